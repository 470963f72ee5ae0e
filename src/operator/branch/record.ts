import { Attempt, type Keep, type Sender } from "../life/attempt.ts";
import { afterShown, closed, never, settlesAt, showsAt, unmade, unsent, type Write } from "../life/record.ts";
import { timestamp } from "../objects/conditions-of.ts";
import type { Branch, BranchStatus, ResetRecord } from "../resources/branch.ts";
import type { Clock } from "../runtime/clock.ts";
import type { WrittenBranch } from "../service-client/branch-calls.ts";
import type { BranchEnd, BranchWrite } from "./action.ts";
import type { BranchMemory, EndWrite, PostRecord, ReadonlyMemory } from "./memory.ts";
import { linkedID, type Observation } from "./observation.ts";
import { isApplied, isSameEnd } from "./plan/expiry.ts";

// The records of a Branch's writes (`life/record.ts` has the protocol).
//
//   write   | recorded in           | closed by                    | once settled by a list
//   create  | memory; the finalizer | an answer with success       | the object may be let go
//   an end  | memory                | an answer, a list with it    | unsent: the next attempt sends the same end
//   a reset | status.pendingWrite   | an answer, last_reset_at     | unsent where the service shows last_reset_at, else
//           |                       | that has moved               | open: a person decides

/** A late end shows within so long, in milliseconds: lists are some time apart. */
const seenLateMs = 120_000;

/** The record of the reset that is about to be sent. */
export function resetRecord(
  { id: branchID, value, lastResetAt }: Extract<BranchWrite, { op: "reset" }>,
  { uid }: Branch["metadata"],
  wallNow: number,
): ResetRecord {
  const record = { uid, operation: "reset", value, since: timestamp(wallNow), branchID };
  return lastResetAt === undefined ? record : { ...record, lastResetAt };
}

/** Takes in a version of the object, also without a list: its record counts from now on. */
export function noteVersion(memory: BranchMemory, { metadata: { uid }, status }: Branch, now: number): void {
  const { reset } = memory;
  const shown = status.pendingWrite;
  // The branch that the status no longer names may come back: a reset of it that is over counts no more.
  const isOver = reset?.phase !== "open" && reset?.record.branchID !== status.branchID;
  const remembered = isOver ? undefined : reset;
  if (shown === undefined || shown.uid !== uid) memory.reset = remembered;
  else memory.reset = afterShown({ remembered, isKnown: isKnown(remembered, shown) }, unsent(shown), now);
}

/** An older record counts too: a version from before the last patch may be seen late. */
function isKnown(own: Write<ResetRecord> | undefined, shown: ResetRecord): boolean {
  if (own === undefined) return false;
  const { value, branchID, since } = own.record;
  return (value === shown.value && branchID === shown.branchID) || shown.since < since;
}

/**
 * The part of every status patch about the reset of the linked branch: its record while it is open; once it is closed,
 * that its value is carried out, and that the life of the branch begins again, so its end is sent again.
 */
export function noteOf({ reset }: ReadonlyMemory, status: BranchStatus): Partial<BranchStatus> {
  const own = reset?.record.branchID === status.branchID ? reset : undefined;
  if (own?.phase === "open") return { pendingWrite: own.record };
  const done = own && isToNote(own, status) ? { resetAt: own.record.value, appliedExpiry: undefined } : {};
  return { pendingWrite: undefined, ...done };
}

/** True if a reset is over, and the status does not say so yet. */
export function isToNote(
  { phase, record: { value } }: Write<ResetRecord>,
  { pendingWrite, resetAt }: BranchStatus,
): boolean {
  return phase === "closed" && (pendingWrite !== undefined || resetAt !== value);
}

/** Takes in what a list concludes for the records. */
export function noteRecords(memory: BranchMemory, o: Observation): void {
  if (memory.reset !== undefined) memory.reset = resetAfterList(memory.reset, o);
  if (memory.ends.length > 0) memory.ends = memory.ends.flatMap((end) => endAfterList(end, o) ?? []);
}

/** `undefined`: nothing more can come of it, and the status says that it is applied. */
function endAfterList(end: EndWrite, { object, linked, listing, createSettleMs }: Observation): EndWrite | undefined {
  if (linked === undefined) return end;
  const isSettled = end.phase === "open" && listing.startedAt >= end.openedAt + createSettleMs + seenLateMs;
  const after = isSettled ? unmade(end) : end;
  if (after.phase !== "open" && isApplied(object.status, end.record)) return undefined;
  if (end.phase !== "closed" || isSameEnd(end.record.at, linked.listed.expires_at)) return after;
  return { ...after, differsSince: end.differsSince ?? listing.startedAt };
}

function resetAfterList(reset: Write<ResetRecord>, { linked, listing, createSettleMs }: Observation) {
  const { branchID, lastResetAt } = reset.record;
  if (reset.phase !== "open" || linked?.listed.id !== branchID) return reset;
  const { last_reset_at: shown } = linked.listed;
  if (hasMoved(lastResetAt, shown)) return closed(reset, listing.startedAt);
  // The record has shown the time before, so an unchanged one proves that nothing was done.
  const isShown = lastResetAt !== undefined && shown !== undefined;
  return isShown && listing.startedAt >= settlesAt(reset, createSettleMs) ? unmade(reset) : reset;
}

/** A list that lags may show a reset before the one on record. */
function hasMoved(before: string | undefined, shown: string | undefined): boolean {
  if (shown === undefined || shown === before) return false;
  return before === undefined || !(Date.parse(shown) <= Date.parse(before));
}

/** The record of an end for one expiry; a change of it ends what lists say of answered ones for other expiries. */
export function keepEnd(memory: BranchMemory, { expiry }: BranchEnd): Keep<EndWrite> {
  return (change) => {
    const changed = change(memory.ends.find(({ record }) => record.expiry === expiry));
    const others = memory.ends.filter(({ record, phase }) => record.expiry !== expiry && phase === "open");
    memory.ends = changed === undefined ? others : [...others, changed];
  };
}

/** The record of an end as its request leaves. */
export function endNoted(end: BranchEnd, before: EndWrite | undefined): EndWrite {
  return { unseen: 0, differsSince: undefined, ...before, ...unsent(end) };
}

/** The record of an end after an answer with success: one that ignores it is found out by lists. */
export function endAnswered(write: EndWrite, shown: string | undefined, now: number): EndWrite | undefined {
  if (isSameEnd(write.record.at, shown)) return undefined;
  return closed({ ...write, unseen: write.unseen + 1, differsSince: undefined }, now);
}

/** The attempt of a write with a record; `undefined`: a deletion or a protection, which has none. */
export function attemptOf(
  planned: BranchWrite,
  { memory, clock }: { memory: BranchMemory; clock: Pick<Clock, "monotonic"> },
): Sender<WrittenBranch> | undefined {
  if (planned.op === "create") {
    const own = unsent<PostRecord>({ by: "own" });
    return new Attempt<Write<PostRecord>, WrittenBranch>({
      clock,
      keep: (change) => {
        memory.post = change(memory.post);
      },
      noted: () => own,
      // An earlier request may still be carried out.
      accepted: ({ before = own, now }) => closed(before, now),
    });
  }
  if (planned.op === "reset") {
    return new Attempt<Write<ResetRecord>, WrittenBranch>({
      clock,
      keep: (change) => {
        memory.reset = change(memory.reset);
      },
      accepted: ({ open, now }) => closed(open, now),
    });
  }
  if (planned.op === "delete" || planned.end === undefined) return undefined;
  const { end } = planned;
  return new Attempt<EndWrite, WrittenBranch>({
    clock,
    keep: keepEnd(memory, end),
    noted: (before) => endNoted(end, before),
    accepted: ({ open, now }, { branch }) => endAnswered(open, branch?.expires_at, now),
  });
}

/** True if a create of this process may have made a branch that no answer has shown. */
export function mayHaveMade({ post }: ReadonlyMemory): boolean {
  return post?.record.by === "own" && post.openedAt !== never;
}

/**
 * The time from which lists show all that creates of this object have made. An earlier process may have sent one if no
 * branch is linked, or one that is so young that another create may still be on its way.
 */
export function postsSettleAt(o: Observation, { post }: ReadonlyMemory): number {
  if (post === undefined) return never;
  const { object, now, serviceNow, createSettleMs } = o;
  const { createdAt } = object.status;
  const openedAt = serviceNow - (now - post.openedAt);
  const isOld = createdAt !== undefined && settlesAt({ openedAt: Date.parse(createdAt) }, createSettleMs) < openedAt;
  const isNoneOnItsWay = post.record.by === "earlier" && linkedID(object) !== undefined && isOld;
  return Math.max(showsAt(post), isNoneOnItsWay ? never : settlesAt(post, createSettleMs));
}
