import { hasUnreadableName } from "../../../api/endpoint.ts";
import type { Compute } from "../../resources/compute.ts";
import { finalizers } from "../../resources/names.ts";
import { type Claim, claimOnEndpoint } from "../observe/claims.ts";
import { type Link, recordedID } from "../observe/ownership.ts";
import { pendingCreateOf } from "../observe/pending-operations.ts";
import { type EndpointSnapshot, isPaused, lossConfirmed, type PlanInput, who } from "../observe/plan-input.ts";
import { deleted, deleting, deletionWaits, released } from "../status/messages/deletion.ts";
import { type Action, noop } from "./action.ts";
import { deleteDueInMs } from "./delete-backoff.ts";
import { recordCreatedEndpoint } from "./link.ts";
import { doubtOfLoss, stepOfProof, tooNew } from "./lost.ts";
import { outcomeOfCreate } from "./pending.ts";

/**
 * What a Compute that is being deleted still needs: its endpoint deleted and proved gone, if it is ours; else to be
 * let go. Nothing in deletion is terminal, and whatever it waits for, `deletionPolicy: Retain` ends it.
 */
export function planDelete(view: PlanInput): Action {
  const { compute, observation } = view;
  if (compute.metadata.finalizers?.includes(finalizers.endpoint) !== true) return { kind: "noop" };
  const endpointID = recordedID(compute);
  if (compute.spec.deletionPolicy === "Retain") {
    return { kind: "release", event: "Released", message: released.retained(endpointID) };
  }
  if (isPaused(compute)) {
    return { kind: "wait", reason: "Paused", message: deletionWaits.paused(endpointID) };
  }
  switch (observation.kind) {
    case "awaited":
      return noop(observation.requeueAfterMs);
    case "blocked":
      if (observation.projectGone && !isSeenElsewhere(compute, observation.through)) {
        return { kind: "release", event: "Released", message: released.projectGone(compute.spec.projectID) };
      }
      if (observation.projectGone) {
        const message = deletionWaits.projectSeenElsewhere(compute.spec.projectID, endpointID);
        return { kind: "wait", reason: "MassLoss", message };
      }
      return {
        kind: "wait",
        reason: observation.reason,
        message: deletionWaits.blocked(endpointID, observation.message),
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
      return { kind: "wait", reason: "ServiceUnavailable", message: deletionWaits.unreadableName(endpoint.id) };
    }
    const kept = whyKept(links.link, claim);
    if (kept !== undefined) {
      return unsettledCreate(view, list) ?? { kind: "release", event: "Released", message: kept };
    }
    if (deleteDueInMs(view, endpoint.id) > 0) return stillListed(view, endpoint.id);
    return { kind: "delete", endpointID: endpoint.id, why: "deleted" };
  }
  const [waiting] = extras;
  if (waiting !== undefined) return stillListed(view, waiting.id);
  const unsettled = unsettledCreate(view, list);
  if (unsettled !== undefined) return unsettled;
  if (links.missing === undefined) {
    return { kind: "release", event: "Released", message: released.neverCreated };
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
  if (claim.kind === "taken") return released.ownedByOther(who(claim.by), id);
  return proof === "none" ? released.unproved(id) : undefined;
}

/** The endpoint is no longer listed: after our own DELETE its GET proves it gone; else as for any that is lost. */
function confirmDeletion(view: PlanInput, list: EndpointSnapshot, endpointID: string, deletedByUs: boolean): Action {
  const { memory, compute } = view;
  if (deletedByUs) {
    if (memory.deleted?.proved !== true) return { kind: "confirmDeletion", endpointID, after: "deleted" };
    return { kind: "release", event: "Deleted", message: deleted.byUs(endpointID) };
  }
  // What is not there through another base URL or key is not proved gone by that.
  const elsewhere = doubtOfLoss(view, { ...list, notListed: { missing: 0, known: 0 } }, endpointID);
  if (elsewhere !== undefined && !lossConfirmed(compute)) {
    const message = deletionWaits.lossDoubted(elsewhere);
    return tooNew(view, list, endpointID) ?? { kind: "wait", reason: "MassLoss", message };
  }
  const gone = { kind: "release", event: "Deleted", message: deleted.alreadyGone(endpointID) } as const;
  return stepOfProof(view, list, endpointID) ?? gone;
}

function stillListed({ memory }: PlanInput, endpointID: string): Action {
  const again = (memory.answeredDeletes.get(endpointID)?.before ?? 0) > 0;
  const message = again ? deleting.stillListed(endpointID) : deleting.accepted(endpointID);
  return { kind: "wait", reason: "Deleting", message };
}
