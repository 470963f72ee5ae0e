import { hasUnreadableName } from "../../api/endpoint.ts";
import type { Compute } from "../resources/compute.ts";
import { finalizers } from "../resources/names.ts";
import { type Claim, claimOnEndpoint } from "./observe/claims.ts";
import { type Link, recordedID } from "./observe/link.ts";
import { createMarkOf } from "./observe/marks.ts";
import { isPaused, type List, lossConfirmed, type View, who } from "./observe/view.ts";
import { deleteDueInMs } from "./plan/deletes.ts";
import { unrecorded } from "./plan/linked.ts";
import { massLoss, stepOfProof, tooNew } from "./plan/lost.ts";
import { outcomeOfCreate } from "./plan/pending.ts";
import { hold, type Step } from "./step.ts";

/**
 * What a Compute that is being deleted still needs: its endpoint deleted and proved gone, if it is ours; else to be
 * let go. Nothing in deletion is terminal, and whatever it waits for, `deletionPolicy: Retain` ends it.
 */
export function planDeletion(view: View): Step {
  const { compute, sight } = view;
  if (compute.metadata.finalizers?.includes(finalizers.endpoint) !== true) return { step: "hold" };
  const endpointID = recordedID(compute);
  const which = endpointID === undefined ? "an endpoint that it may have made" : `endpoint ${endpointID}`;
  const ways = "set spec.deletionPolicy to Retain to let the Compute go and keep the endpoint";
  if (compute.spec.deletionPolicy === "Retain") {
    const message = `${which.charAt(0).toUpperCase()}${which.slice(1)} is kept: deletionPolicy is Retain.`;
    return { step: "release", event: "Released", message };
  }
  if (isPaused(compute)) {
    return {
      step: "wait",
      reason: "Paused",
      message: `Deletion waits: the annotation compute-operator.dev/paused is set. Remove it to have ${which} deleted, or ${ways}.`,
    };
  }
  switch (sight.kind) {
    case "awaited":
      return hold(sight.lookInMs);
    case "blocked":
      if (sight.projectGone && !isSeenElsewhere(compute, sight.through)) {
        const message = `Project ${compute.spec.projectID} is gone, and its endpoints with it.`;
        return { step: "release", event: "Released", message };
      }
      if (sight.projectGone) {
        return {
          step: "wait",
          reason: "MassLoss",
          message: `Deletion waits: project ${compute.spec.projectID} is not found through the present base URL and key, and ${which} was last seen through others. Check the connection. If the project is gone, set the annotation compute-operator.dev/confirmLoss to a new value, or ${ways}.`,
        };
      }
      return {
        step: "wait",
        reason: sight.reason,
        message: `Deletion waits, for ${which} is still to be deleted: ${sight.message} Or ${ways}.`,
      };
    case "listed":
      return deletion(view, sight.list);
  }
}

/**
 * Whether the endpoint was last seen, or its create sent, through another base URL or key: these prove nothing then.
 */
function isSeenElsewhere(compute: Compute, through: string | undefined): boolean {
  if (lossConfirmed(compute)) return false;
  const linked = recordedID(compute) !== undefined && compute.status.observedThrough !== through;
  const mark = createMarkOf(compute);
  return linked || (mark !== undefined && mark.through !== through);
}

function deletion(view: View, list: List): Step {
  const { compute, memory, rivals } = view;
  const { links } = list;
  const unlinked = unrecorded(view, list);
  if (unlinked !== undefined) return unlinked;
  const extras = [...links.surplus, ...links.heirs];
  const extra = extras.find(({ id }) => deleteDueInMs(view, id) === 0);
  if (extra !== undefined) return { step: "delete", endpointID: extra.id, why: "surplus" };
  if (links.link !== undefined) {
    const { endpoint } = links.link;
    const claim = claimOnEndpoint(compute, endpoint, rivals, list.endpoints);
    if (claim.kind !== "taken" && links.link.proof === "none" && hasUnreadableName(endpoint)) {
      return { step: "wait", reason: "ServiceUnavailable", message: unprovableMessage(endpoint.id) };
    }
    const kept = whyKept(links.link, claim);
    if (kept !== undefined) {
      const message = `Endpoint ${endpoint.id} is kept: ${kept}.`;
      return unsettledCreate(view, list) ?? { step: "release", event: "Released", message };
    }
    if (deleteDueInMs(view, endpoint.id) > 0) return stillListed(view, endpoint.id);
    return { step: "delete", endpointID: endpoint.id, why: "deleted" };
  }
  const [waiting] = extras;
  if (waiting !== undefined) return stillListed(view, waiting.id);
  const unsettled = unsettledCreate(view, list);
  if (unsettled !== undefined) return unsettled;
  if (links.missing === undefined) {
    return { step: "release", event: "Released", message: "No endpoint was ever made for this Compute." };
  }
  return goneOrNot(view, list, links.missing, memory.deleted?.endpointID === links.missing);
}

/** What a create that is pending may have made, or may yet make, is found before the Compute goes. */
function unsettledCreate(view: View, list: List): Step | undefined {
  const outcome = createMarkOf(view.compute) === undefined ? "absent" : outcomeOfCreate(view, list);
  return outcome === "absent" ? undefined : outcome;
}

/** Why the endpoint that a Compute is linked to is not deleted with it. */
function whyKept({ endpoint: { id }, proof }: Link, claim: Claim): string | undefined {
  if (claim.kind === "taken") return `it belongs to ${who(claim.by)}`;
  if (proof !== "none") return undefined;
  return `only an annotation links it to this Compute, which did not make it. To have it deleted, adopt it with spec.adopt.endpointID: ${id} in a Compute and delete that`;
}

/** The endpoint is no longer listed: after our own DELETE its GET proves it gone; else as for any that is lost. */
function goneOrNot(view: View, list: List, endpointID: string, deletedByUs: boolean): Step {
  const { memory, compute } = view;
  if (deletedByUs) {
    if (memory.deleted?.proved !== true) return { step: "confirmGone", endpointID, after: "deleted" };
    return { step: "release", event: "Deleted", message: `Endpoint ${endpointID} was deleted.` };
  }
  // What is not there through another base URL or key is not proved gone by that.
  const elsewhere = massLoss(view, { ...list, vanished: { missing: 0, known: 0 } }, endpointID);
  if (elsewhere !== undefined && !lossConfirmed(compute)) {
    const message = `Deletion waits: ${elsewhere} Or set spec.deletionPolicy to Retain.`;
    return tooNew(view, list, endpointID) ?? { step: "wait", reason: "MassLoss", message };
  }
  const gone = { step: "release", event: "Deleted", message: `Endpoint ${endpointID} was already gone.` } as const;
  return stepOfProof(view, list, endpointID) ?? gone;
}

function stillListed({ memory }: View, endpointID: string): Step {
  const again = (memory.answeredDeletes.get(endpointID)?.before ?? 0) > 0;
  const message = again ? stillListedMessage(endpointID) : deletedMessage(endpointID);
  return { step: "wait", reason: "Deleting", message };
}

function unprovableMessage(endpointID: string): string {
  return `Deletion waits: the name of the endpoint, which says whether this Compute made it, cannot be read in the service's answers. Set spec.adopt.endpointID to have it deleted, or spec.deletionPolicy to Retain to keep it: ${endpointID}.`;
}

export function deletedMessage(endpointID: string): string {
  return `Endpoint ${endpointID} was deleted; the Compute goes as soon as that is confirmed.`;
}

export function stillListedMessage(endpointID: string): string {
  return `The service answers that endpoint ${endpointID} is deleted and lists it still. It is told again ever more rarely. Look there for what keeps it, or set spec.deletionPolicy to Retain to let the Compute go.`;
}

export function unlistedMessage(endpointID: string): string {
  return `Deletion waits: the service does not list endpoint ${endpointID}, and shows it when it is asked for it. It is deleted as soon as it is listed, and the Compute goes once it is proved gone. Or set spec.deletionPolicy to Retain to let the Compute go.`;
}
