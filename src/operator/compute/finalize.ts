import { finalizers } from "../resources/names.ts";
import { claimOnEndpoint } from "./observe/claims.ts";
import { recordedID } from "./observe/link.ts";
import { createMarkOf } from "./observe/marks.ts";
import { annotation, freshLookAsked, type List, type View, who } from "./observe/view.ts";
import { unrecorded } from "./plan/linked.ts";
import { massLoss, stepOfProof } from "./plan/lost.ts";
import { outcomeOfCreate } from "./plan/pending.ts";
import type { Step } from "./step.ts";

/** An accepted DELETE is not sent again for so long, though lists still show the endpoint, in milliseconds. */
const deleteTakesMs = 30_000;

/**
 * What a Compute that is being deleted still needs: its endpoint deleted and proved gone, if it is ours; else to be
 * let go. Nothing in deletion is terminal, and whatever it waits for, `deletionPolicy: Retain` ends it.
 */
export function planDeletion(view: View): Step {
  const { compute, sight } = view;
  if (compute.metadata.finalizers?.includes(finalizers.endpoint) !== true) return { step: "hold" };
  const endpointID = recordedID(compute);
  const which = endpointID === undefined ? "An endpoint that it may have made" : `Endpoint ${endpointID}`;
  const ways = "set spec.deletionPolicy to Retain to let the Compute go and keep the endpoint";
  if (compute.spec.deletionPolicy === "Retain") {
    return { step: "release", event: "Released", message: `${which} is kept: deletionPolicy is Retain.` };
  }
  if (annotation(compute, "paused") === "true") {
    return {
      step: "wait",
      reason: "Paused",
      message: `Deletion waits: the annotation compute-operator.dev/paused is "true". Remove it to have ${which.toLowerCase()} deleted, or ${ways}.`,
    };
  }
  switch (sight.kind) {
    case "awaited":
      return { step: "hold" };
    case "blocked":
      if (sight.projectGone) {
        const message = `Project ${compute.spec.projectID} is gone, and its endpoints with it.`;
        return { step: "release", event: "Released", message };
      }
      return {
        step: "wait",
        reason: sight.reason,
        message: `Deletion waits, for ${which.toLowerCase()} is still to be deleted: ${sight.message} Or ${ways}.`,
      };
    case "listed":
      return deletion(view, sight.list);
  }
}

function deletion(view: View, list: List): Step {
  const { compute, memory, rivals } = view;
  const { links } = list;
  const unlinked = unrecorded(view, list);
  if (unlinked !== undefined) return unlinked;
  const [extra] = [...links.surplus, ...links.heirs];
  if (extra !== undefined) return { step: "delete", endpointID: extra.id, why: "surplus" };
  if (links.link !== undefined) {
    const { endpoint, proof } = links.link;
    const claim = claimOnEndpoint(compute, endpoint, rivals, list.endpoints);
    if (claim.kind === "taken") {
      return {
        step: "release",
        event: "Released",
        message: `Endpoint ${endpoint.id} is kept: it belongs to ${who(claim.by)}.`,
      };
    }
    if (proof === "none") {
      return {
        step: "release",
        event: "Released",
        message: `Endpoint ${endpoint.id} is kept: only an annotation links it to this Compute, which did not make it. To have it deleted, adopt it with spec.adopt.endpointID: ${endpoint.id} in a Compute and delete that.`,
      };
    }
    const { deleted } = memory;
    if (deleted?.endpointID === endpoint.id && view.now - deleted.at < deleteTakesMs) {
      return { step: "wait", reason: "Deleting", message: deletedMessage(endpoint.id) };
    }
    return { step: "delete", endpointID: endpoint.id, why: "deleted" };
  }
  if (createMarkOf(compute) !== undefined) {
    const outcome = outcomeOfCreate(view, list);
    if (outcome !== "absent") return outcome;
  }
  if (links.missing === undefined) {
    return { step: "release", event: "Released", message: "No endpoint was ever made for this Compute." };
  }
  return goneOrNot(view, list, links.missing, memory.deleted?.endpointID === links.missing);
}

/** The endpoint is no longer listed: after our own DELETE its GET proves it gone; else as for any that is lost. */
function goneOrNot(view: View, list: List, endpointID: string, deletedByUs: boolean): Step {
  const { memory } = view;
  const proved = deletedByUs ? memory.deleted?.proved : memory.missing?.proved;
  if (proved === true) {
    const message = deletedByUs ? `Endpoint ${endpointID} was deleted.` : `Endpoint ${endpointID} was already gone.`;
    return { step: "release", event: "Deleted", message };
  }
  if (deletedByUs) return { step: "confirmGone", endpointID, after: "deleted" };
  const elsewhere = massLoss(view, { ...list, vanished: { missing: 0, known: 0 } }, endpointID);
  if (elsewhere !== undefined && !freshLookAsked(view.compute)) {
    return {
      step: "wait",
      reason: "MassLoss",
      message: `Deletion waits: ${elsewhere} Or set spec.deletionPolicy to Retain.`,
    };
  }
  return stepOfProof(view, list, endpointID) ?? { step: "hold" };
}

export function deletedMessage(endpointID: string): string {
  return `Endpoint ${endpointID} was deleted; the Compute goes as soon as that is confirmed.`;
}
