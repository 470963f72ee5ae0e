import { hasUnreadableName } from "../../../api/endpoint.ts";
import { type Claim, claimOnEndpoint } from "../../claims/claims.ts";
import { type Link, provedIn } from "../../claims/ownership.ts";
import { isRetained } from "../../objects/deletion-policy.ts";
import { orphansDependents } from "../../objects/object.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { signatureOf } from "../../resources/signature.ts";
import { seldomMs } from "../../runtime/waits.ts";
import type { ReadonlyState } from "../memory.ts";
import { isMoveOpen, isOpen } from "../memory.ts";
import { hasFinalizer, type Observation, type Observed, type Subject, who } from "../observe/observation.ts";
import { openingOf } from "../record.ts";
import { deleted, deleting, deletionWaits, released } from "../words/deletion.ts";
import { type Action, deletionOf, noop, pauseOf } from "./action.ts";
import { isSignedByOther } from "./former.ts";
import { isOwnedAlone, recordCreatedEndpoint } from "./link.ts";
import { deleteDueAt, doubtOfLoss, stepOfProof, tooNew } from "./lost.ts";
import { chosenIn, waitFor } from "./pending.ts";

/**
 * The next step for a Compute that is being deleted: its endpoint is deleted and proved gone if it is ours; else it is
 * let go. Nothing in deletion is terminal: `deletionPolicy: Retain` ends every wait.
 */
export function planDelete(o: Observed, s: ReadonlyState): Action {
  const { spec } = o.compute;
  const { recordedID: endpointID, pausedForMs, pausedUntil } = o.annotations;
  if (!hasFinalizer(o.compute)) return { kind: "noop" };
  if (isObserved(o.compute)) return letGo(released.observed(provedIn(o.compute)), o, s);
  if (orphansDependents(o.compute)) {
    const message = deletionWaits.orphaning(endpointID);
    return { kind: "wait", reason: "Deleting", message, requeueAfterMs: seldomMs };
  }
  if (isKept(o)) return letGo(released.retained(endpointID), o, s);
  if (pausedForMs !== undefined) return pauseOf(o.annotations, deletionWaits.paused(endpointID, pausedUntil));
  switch (o.kind) {
    case "pending":
      return noop(o.requeueAfterMs);
    case "unavailable":
      if (!o.projectGone) {
        return { kind: "wait", reason: o.reason, message: deletionWaits.blocked(endpointID, o.message) };
      }
      return isSeenElsewhere(o, s)
        ? { kind: "wait", reason: "MassLoss", message: deletionWaits.projectSeenElsewhere(spec.projectID, endpointID) }
        : { kind: "release", event: "Released", message: released.projectGone(spec.projectID) };
    case "observed":
      return deletion(o, s);
  }
}

/** Releases at once, also while something is open: a person finds what that may still make by branch and signature. */
export function letGo(message: string, { compute, fleet }: Subject, { write }: ReadonlyState): Action {
  const release = { kind: "release", event: "Released", message } as const;
  if (write === undefined || !isOpen(write) || isMoveOpen(write) || write.made !== undefined) return release;
  const open = released.stillOpen(write.record.branchID, signatureOf(compute, fleet));
  return { ...release, message: `${message} ${open}`, warns: true };
}

/** Without a policy in the spec the endpoint decides, or while it cannot be seen the proof in the status. */
function isKept({ kind, compute }: Observed): boolean {
  return kind === "observed" ? compute.spec.deletionPolicy === "Retain" : isRetained(compute);
}

/** True if the endpoint was last seen, or its request sent, through another base URL or key. */
function isSeenElsewhere(
  { compute, annotations, fingerprint, baseURL }: Extract<Observed, { kind: "unavailable" }>,
  { write }: ReadonlyState,
): boolean {
  const { lossConfirmed, recordedID } = annotations;
  if (lossConfirmed) return false;
  const isLinked = recordedID !== undefined && compute.status.observedThrough !== fingerprint;
  const sentTo = isOpen(write) ? write?.record.through : undefined;
  return isLinked || (sentTo !== undefined && sentTo !== "" && sentTo !== baseURL);
}

function deletion(o: Observation, s: ReadonlyState): Action {
  const { duplicates, replacements, link, missing } = o.links;
  const first = recordCreatedEndpoint(o, s);
  if (first !== undefined) return first;
  const extras = [...duplicates, ...replacements.map(({ endpoint }) => endpoint)].filter((each) =>
    isOwnedAlone(each, o),
  );
  const extra = extras.find(({ id }) => o.now >= deleteDueAt(s, id));
  if (extra !== undefined) return deletionOf(extra, "duplicate", o.compute.metadata.uid);
  if (link !== undefined) return deletionOfLinked(link, o, s);
  const [waiting] = extras;
  if (waiting !== undefined) return stillListed(s, waiting.id);
  if (missing !== undefined && s.missing?.proved !== true && s.deletes.get(missing)?.proved !== true)
    return confirmDeletion(o, s, missing);
  const unsettled = unsettledWrite(o, s);
  if (unsettled !== undefined) return unsettled;
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
  if (kept !== undefined) return unsettledWrite(o, s) ?? { kind: "release", event: "Released", message: kept };
  if (o.now < deleteDueAt(s, endpoint.id)) return stillListed(s, endpoint.id);
  return deletionOf(endpoint, "deleted", o.compute.metadata.uid);
}

/** Search for the endpoint that an open request may have made, or may still make, before the Compute is released. */
function unsettledWrite(o: Observation, s: ReadonlyState): Action | undefined {
  const opening = openingOf(o, s.write);
  return opening === undefined ? undefined : (chosenIn(opening, o) ?? waitFor(opening, o, s));
}

/** Reason why the endpoint that a Compute is linked to is not deleted with it. */
function whyKept({ endpoint: { id }, proof }: Link, claim: Claim, { compute }: Observation): string | undefined {
  if (claim.kind === "taken") return released.ownedByOther(who(claim.by), id);
  if (proof === "adopted" && compute.spec.deletionPolicy === undefined) return released.adopted(id);
  return proof === "none" ? released.unproved(id) : undefined;
}

/** The endpoint is no longer listed: after our own DELETE its GET proves it gone; else as for any that is lost. */
function confirmDeletion(o: Observation, s: ReadonlyState, endpointID: string): Action {
  const answered = s.deletes.get(endpointID);
  if (answered?.accepted === true) {
    if (!answered.proved) return { kind: "confirmDeletion", endpointID, after: "deleted" };
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

function stillListed({ deletes }: ReadonlyState, endpointID: string): Action {
  const isRepeated = (deletes.get(endpointID)?.before ?? 0) > 0;
  const message = isRepeated ? deleting.stillListed(endpointID) : deleting.accepted(endpointID);
  return { kind: "wait", reason: "Deleting", message };
}
