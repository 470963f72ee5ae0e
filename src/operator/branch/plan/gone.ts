import { nextProof } from "../../life/gone.ts";
import { type Branch, expiryInWords } from "../../resources/branch.ts";
import type { BranchAction } from "../action.ts";
import type { ReadonlyMemory } from "../memory.ts";
import { annotationOf, type Observation } from "../observation.ts";
import { gone as messages } from "../words.ts";

// A branch is gone if two lists some time apart lack it and its own GET says so. What is gone is not made again by
// itself: a fresh copy of the parent must not pass for the data that was lost.

/** A branch that goes missing so long before its end came to it, in milliseconds: clocks and jobs are not exact. */
const aroundEndMs = 60_000;

/** The branch that this object is linked to is not listed: proves it gone, and concludes why. */
export function planMissing(o: Observation, memory: ReadonlyMemory, id: string): BranchAction {
  const { listing } = o;
  if (isThroughAnother(o)) {
    return isResetAsked(o)
      ? actionWhenGone(o, memory, id)
      : { kind: "show", reason: "BranchNotFound", message: messages.unseen(id) };
  }
  const { missing } = memory;
  const step = nextProof(missing, listing.startedAt);
  if (step.kind === "proved") return actionWhenGone(o, memory, id);
  return step.kind === "ask" ? { kind: "probe", id } : { kind: "noop", afterMs: step.forMs };
}

/** True if the branch was last seen with another base URL or key, whose lists alone can prove it gone. */
export function isThroughAnother({ object: { status }, fingerprint }: Observation): boolean {
  return status.observedThrough !== undefined && status.observedThrough !== fingerprint;
}

/** A person wants another branch in place of the one that the status names. */
function isResetAsked({ object }: Observation): boolean {
  const { resetAt } = object.status;
  const asks = annotationOf(object, "resetAt");
  return asks !== undefined && asks !== resetAt;
}

function actionWhenGone(o: Observation, { missing }: ReadonlyMemory, id: string): BranchAction {
  const { object, serviceNow, now } = o;
  const { expiresAt } = object.status;
  const missingAt = serviceNow - (now - (missing?.since ?? now));
  const isExpired = expiresAt !== undefined && missingAt >= Date.parse(expiresAt) - aroundEndMs;
  const how = isExpired ? "Expired" : "BranchLost";
  // A value of resetAt that was not carried out asks for the fresh branch.
  const news = {
    gone: { branchID: id, how, expiry: expiryInWords(object.spec.expiry), resetAt: object.status.resetAt },
  };
  const message = isExpired ? messages.expired(id, expiresAt) : messages.lost(id);
  return { kind: "show", reason: how, message, news };
}

/** The step for a branch that is gone; `undefined`: a person has asked for another one. */
export function planGone(object: Branch): BranchAction | undefined {
  const { gone, expiresAt = "" } = object.status;
  if (gone === undefined) return undefined;
  const resetAt = annotationOf(object, "resetAt");
  const isAsked =
    gone.expiry !== expiryInWords(object.spec.expiry) || (resetAt !== undefined && resetAt !== gone.resetAt);
  if (isAsked) {
    const forgotten = { branchID: undefined, proof: undefined, gone: undefined };
    const unapplied = { appliedExpiry: undefined, appliedEnd: undefined, observedThrough: undefined };
    return { kind: "note", news: { ...forgotten, ...unapplied, resetAt } };
  }
  const isExpired = gone.how === "Expired";
  const message = isExpired ? messages.expired(gone.branchID, expiresAt) : messages.lost(gone.branchID);
  return { kind: "show", reason: isExpired ? "Expired" : "BranchLost", message };
}
