import { hasUnreadableName } from "../../../api/endpoint.ts";
import type { Compute } from "../../resources/compute.ts";
import { finalizers } from "../../resources/names.ts";
import { type Claim, claimOnEndpoint } from "../observe/claims.ts";
import { type Link, recordedID } from "../observe/ownership.ts";
import { pendingCreateOf } from "../observe/pending-operations.ts";
import { type EndpointSnapshot, isPaused, lossConfirmed, type PlanInput, who } from "../observe/plan-input.ts";
import { type Action, noop } from "./action.ts";
import { deleteDueInMs } from "./delete-backoff.ts";
import { recordCreatedEndpoint } from "./link.ts";
import { massLoss, stepOfProof, tooNew } from "./lost.ts";
import { outcomeOfCreate } from "./pending.ts";

/**
 * What a Compute that is being deleted still needs: its endpoint deleted and proved gone, if it is ours; else to be
 * let go. Nothing in deletion is terminal, and whatever it waits for, `deletionPolicy: Retain` ends it.
 */
export function planDelete(view: PlanInput): Action {
  const { compute, observation } = view;
  if (compute.metadata.finalizers?.includes(finalizers.endpoint) !== true) return { kind: "noop" };
  const endpointID = recordedID(compute);
  const which = endpointID === undefined ? "an endpoint that it may have made" : `endpoint ${endpointID}`;
  const ways = "set spec.deletionPolicy to Retain to let the Compute go and keep the endpoint";
  if (compute.spec.deletionPolicy === "Retain") {
    const message = `${which.charAt(0).toUpperCase()}${which.slice(1)} is kept: deletionPolicy is Retain.`;
    return { kind: "release", event: "Released", message };
  }
  if (isPaused(compute)) {
    return {
      kind: "wait",
      reason: "Paused",
      message: `Deletion waits: the annotation compute-operator.dev/paused is set. Remove it to have ${which} deleted, or ${ways}.`,
    };
  }
  switch (observation.kind) {
    case "awaited":
      return noop(observation.requeueAfterMs);
    case "blocked":
      if (observation.projectGone && !isSeenElsewhere(compute, observation.through)) {
        const message = `Project ${compute.spec.projectID} is gone, and its endpoints with it.`;
        return { kind: "release", event: "Released", message };
      }
      if (observation.projectGone) {
        return {
          kind: "wait",
          reason: "MassLoss",
          message: `Deletion waits: project ${compute.spec.projectID} is not found through the current base URL and key, and ${which} was last seen through others. Check the connection. If the project is gone, set the annotation compute-operator.dev/confirmLoss to a new value, or ${ways}.`,
        };
      }
      return {
        kind: "wait",
        reason: observation.reason,
        message: `Deletion waits because ${which} cannot be deleted yet: ${observation.message} Or ${ways}.`,
      };
    case "listed":
      return deletion(view, observation.list);
  }
}

/**
 * Whether the endpoint was last seen, or its create sent, through another base URL or key: these prove nothing then.
 */
function isSeenElsewhere(compute: Compute, through: string | undefined): boolean {
  if (lossConfirmed(compute)) return false;
  const linked = recordedID(compute) !== undefined && compute.status.observedThrough !== through;
  const mark = pendingCreateOf(compute);
  return linked || (mark !== undefined && mark.through !== through);
}

function deletion(view: PlanInput, list: EndpointSnapshot): Action {
  const { compute, memory, claimants } = view;
  const { links } = list;
  const unlinked = recordCreatedEndpoint(view, list);
  if (unlinked !== undefined) return unlinked;
  const extras = [...links.duplicates, ...links.replacements];
  const extra = extras.find(({ id }) => deleteDueInMs(view, id) === 0);
  if (extra !== undefined) return { kind: "delete", endpointID: extra.id, why: "surplus" };
  if (links.link !== undefined) {
    const { endpoint } = links.link;
    const claim = claimOnEndpoint(compute, endpoint, claimants, list.endpoints);
    if (claim.kind !== "taken" && links.link.proof === "none" && hasUnreadableName(endpoint)) {
      return { kind: "wait", reason: "ServiceUnavailable", message: unprovableMessage(endpoint.id) };
    }
    const kept = whyKept(links.link, claim);
    if (kept !== undefined) {
      const message = `Endpoint ${endpoint.id} is kept: ${kept}.`;
      return unsettledCreate(view, list) ?? { kind: "release", event: "Released", message };
    }
    if (deleteDueInMs(view, endpoint.id) > 0) return stillListed(view, endpoint.id);
    return { kind: "delete", endpointID: endpoint.id, why: "deleted" };
  }
  const [waiting] = extras;
  if (waiting !== undefined) return stillListed(view, waiting.id);
  const unsettled = unsettledCreate(view, list);
  if (unsettled !== undefined) return unsettled;
  if (links.missing === undefined) {
    return { kind: "release", event: "Released", message: "No endpoint was ever created for this Compute." };
  }
  return confirmDeletion(view, list, links.missing, memory.deleted?.endpointID === links.missing);
}

/** What a create that is pending may have made, or may yet make, is found before the Compute goes. */
function unsettledCreate(view: PlanInput, list: EndpointSnapshot): Action | undefined {
  const outcome = pendingCreateOf(view.compute) === undefined ? "absent" : outcomeOfCreate(view, list);
  return outcome === "absent" ? undefined : outcome;
}

/** Why the endpoint that a Compute is linked to is not deleted with it. */
function whyKept({ endpoint: { id }, proof }: Link, claim: Claim): string | undefined {
  if (claim.kind === "taken") return `it belongs to ${who(claim.by)}`;
  if (proof !== "none") return undefined;
  return `only an annotation links it to this Compute, which did not make it. To have it deleted, adopt it with spec.adopt.endpointID: ${id} in a Compute and delete that`;
}

/** The endpoint is no longer listed: after our own DELETE its GET proves it gone; else as for any that is lost. */
function confirmDeletion(view: PlanInput, list: EndpointSnapshot, endpointID: string, deletedByUs: boolean): Action {
  const { memory, compute } = view;
  if (deletedByUs) {
    if (memory.deleted?.proved !== true) return { kind: "confirmDeletion", endpointID, after: "deleted" };
    return { kind: "release", event: "Deleted", message: `Endpoint ${endpointID} was deleted.` };
  }
  // What is not there through another base URL or key is not proved gone by that.
  const elsewhere = massLoss(view, { ...list, notListed: { missing: 0, known: 0 } }, endpointID);
  if (elsewhere !== undefined && !lossConfirmed(compute)) {
    const message = `Deletion waits: ${elsewhere} Or set spec.deletionPolicy to Retain.`;
    return tooNew(view, list, endpointID) ?? { kind: "wait", reason: "MassLoss", message };
  }
  const gone = { kind: "release", event: "Deleted", message: `Endpoint ${endpointID} was already gone.` } as const;
  return stepOfProof(view, list, endpointID) ?? gone;
}

function stillListed({ memory }: PlanInput, endpointID: string): Action {
  const again = (memory.answeredDeletes.get(endpointID)?.before ?? 0) > 0;
  const message = again ? stillListedMessage(endpointID) : deletedMessage(endpointID);
  return { kind: "wait", reason: "Deleting", message };
}

function unprovableMessage(endpointID: string): string {
  return `Deletion waits: the name of the endpoint, which says whether this Compute made it, cannot be read in the service's answers. Set spec.adopt.endpointID to have it deleted, or spec.deletionPolicy to Retain to keep it: ${endpointID}.`;
}

export function deletedMessage(endpointID: string): string {
  return `Endpoint ${endpointID} was deleted. The Compute is removed once that is confirmed.`;
}

export function stillListedMessage(endpointID: string): string {
  return `The service confirmed the deletion of endpoint ${endpointID} but still lists it; the deletion is repeated with backoff. Find out there what keeps it, or set spec.deletionPolicy to Retain to let the Compute go.`;
}

export function unlistedMessage(endpointID: string): string {
  return `Deletion waits: the service does not list endpoint ${endpointID}, yet returns it when asked for it by id. It is deleted once it is listed; or set spec.deletionPolicy to Retain to let the Compute go.`;
}
