import { hasUnreadableName } from "../../../api/endpoint.ts";
import { type Claim, claimOnEndpoint } from "../observe/claims.ts";
import { hasFinalizer, type Observation, type Observed, type Subject, who } from "../observe/observation.ts";
import type { Link } from "../observe/ownership.ts";
import type { ReadonlyState } from "../remembered.ts";
import { deleted, deleting, deletionWaits, released } from "../status/messages/deletion.ts";
import { type Action, deletionOf, noop } from "./action.ts";
import { awaitSignature, isSignedByOther, takeoverMayArriveForMs } from "./former.ts";
import { recordCreatedEndpoint } from "./link.ts";
import { deleteDueInMs, doubtOfLoss, stepOfProof, tooNew } from "./lost.ts";
import { outcomeOfCreate } from "./pending.ts";

/**
 * What a Compute that is being deleted still needs: its endpoint deleted and proved gone if it is ours; else to be let
 * go. Nothing in deletion is terminal: `deletionPolicy: Retain` ends every wait.
 */
export function planDelete(o: Observed, s: ReadonlyState): Action {
  const { spec } = o.compute;
  const { recordedID, pendingTakeover, paused } = o.annotations;
  const endpointID = recordedID ?? pendingTakeover?.endpointID;
  if (!hasFinalizer(o.compute)) return { kind: "noop" };
  if (isRetained(o)) return { kind: "release", event: "Released", message: released.retained(endpointID) };
  if (paused) return { kind: "wait", reason: "Paused", message: deletionWaits.paused(endpointID) };
  switch (o.kind) {
    case "pending":
      return noop(o.requeueAfterMs);
    case "unavailable":
      if (!o.projectGone) {
        return { kind: "wait", reason: o.reason, message: deletionWaits.blocked(endpointID, o.message) };
      }
      return isSeenElsewhere(o, o.fingerprint)
        ? { kind: "wait", reason: "MassLoss", message: deletionWaits.projectSeenElsewhere(spec.projectID, endpointID) }
        : { kind: "release", event: "Released", message: released.projectGone(spec.projectID) };
    case "observed":
      return deletion(o, s);
  }
}

/** Without a policy in the spec the endpoint decides, or while it cannot be seen the policy that the status shows. */
function isRetained({ kind, compute: { spec, status } }: Observed): boolean {
  return (spec.deletionPolicy ?? (kind === "observed" ? undefined : status.deletionPolicy)) === "Retain";
}

/** Whether the endpoint was last seen, or its create or signature sent, through another base URL or key. */
function isSeenElsewhere({ compute, annotations }: Subject, fingerprint: string | undefined): boolean {
  const { lossConfirmed, recordedID, pendingCreate, pendingTakeover } = annotations;
  if (lossConfirmed) return false;
  const isLinked = recordedID !== undefined && compute.status.observedThrough !== fingerprint;
  return isLinked || [pendingCreate, pendingTakeover].some((mark) => mark && mark.through !== fingerprint);
}

function deletion(o: Observation, s: ReadonlyState): Action {
  const { duplicates, replacements, link, missing } = o.links;
  const first = recordCreatedEndpoint(o, s) ?? awaitSignature(o, s);
  if (first !== undefined) return first;
  const extras = [...duplicates, ...replacements.map(({ endpoint }) => endpoint)];
  const extra = extras.find(({ id }) => deleteDueInMs(o, s, id) === 0);
  if (extra !== undefined) return deletionOf(extra, "duplicate", o.compute.metadata.uid);
  if (link !== undefined) return deletionOfLinked(link, o, s);
  const [waiting] = extras;
  if (waiting !== undefined) return stillListed(s, waiting.id);
  const unsettled = unsettledCreate(o, s);
  if (unsettled !== undefined) return unsettled;
  const leftMs = takeoverMayArriveForMs(o, s);
  if (leftMs > 0 && missing === undefined)
    return { kind: "wait", reason: "Deleting", message: deletionWaits.earlierTakeover, requeueAfterMs: leftMs };
  if (missing === undefined) return { kind: "release", event: "Released", message: released.neverCreated };
  return confirmDeletion(o, s, missing);
}

function deletionOfLinked(link: Link, o: Observation, s: ReadonlyState): Action {
  const { endpoint, proof } = link;
  const claim = claimOnEndpoint(o.compute, endpoint, o.claimants, o.endpoints);
  if (claim.kind !== "taken" && proof === "none" && hasUnreadableName(endpoint)) {
    return { kind: "wait", reason: "ServiceUnavailable", message: deletionWaits.unreadableName(endpoint.id) };
  }
  const kept = isSignedByOther(o, s) ? released.signedByOther(endpoint.id) : whyKept(link, claim, o);
  if (kept !== undefined) return unsettledCreate(o, s) ?? { kind: "release", event: "Released", message: kept };
  if (deleteDueInMs(o, s, endpoint.id) > 0) return stillListed(s, endpoint.id);
  return deletionOf(endpoint, "deleted", o.compute.metadata.uid);
}

/** What a pending create may have made, or may still make, is found before the Compute is released. */
function unsettledCreate(o: Observation, s: ReadonlyState): Action | undefined {
  const outcome = o.annotations.pendingCreate === undefined ? "absent" : outcomeOfCreate(o, s);
  return outcome === "absent" ? undefined : outcome;
}

/** Why the endpoint that a Compute is linked to is not deleted with it. */
function whyKept({ endpoint: { id }, proof }: Link, claim: Claim, { compute }: Observation): string | undefined {
  if (claim.kind === "taken") return released.ownedByOther(who(claim.by), id);
  if (proof === "adopted" && compute.spec.deletionPolicy === undefined) return released.adopted(id);
  return proof === "none" ? released.unproved(id) : undefined;
}

/** The endpoint is no longer listed: after our own DELETE its GET proves it gone; else as for any that is lost. */
function confirmDeletion(o: Observation, s: ReadonlyState, endpointID: string): Action {
  if (s.deleted?.endpointID === endpointID) {
    if (!s.deleted.proved) return { kind: "confirmDeletion", endpointID, after: "deleted" };
    return { kind: "release", event: "Deleted", message: deleted.byUs(endpointID) };
  }
  // A list through another base URL or key does not prove the endpoint gone.
  const elsewhere = doubtOfLoss({ ...o, notListed: { missing: 0, known: 0 } }, endpointID);
  if (elsewhere !== undefined && !o.annotations.lossConfirmed) {
    const message = deletionWaits.lossDoubted(elsewhere);
    return tooNew(o, s, endpointID) ?? { kind: "wait", reason: "MassLoss", message };
  }
  const gone = { kind: "release", event: "Deleted", message: deleted.alreadyGone(endpointID) } as const;
  return stepOfProof(o, s, endpointID) ?? gone;
}

function stillListed({ answeredDeletes }: ReadonlyState, endpointID: string): Action {
  const isRepeated = (answeredDeletes.get(endpointID)?.before ?? 0) > 0;
  const message = isRepeated ? deleting.stillListed(endpointID) : deleting.accepted(endpointID);
  return { kind: "wait", reason: "Deleting", message };
}
