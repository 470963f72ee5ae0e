import { requeueDelay, stallsAfterMs } from "../conditions/rows.ts";
import type { Outcome } from "./outcome.ts";
import type { ReadonlyState, Remembered } from "./remembered.ts";
import { type Row, reasons } from "./words/reasons.ts";

/**
 * Time at which a Compute is due after a reconcile: the action's or its reason's; a sooner one stays. The reason's time
 * is never before the expected result of the write under way, and never after the reason begins to stall.
 */
export function nextRequeue(
  { condition, requeue }: Outcome,
  { requeue: before }: ReadonlyState,
  now: number,
): Pick<Remembered["requeue"], "reason" | "count" | "since" | "dueAt"> {
  const { reason, count, dueAt, since, resultAt = Number.NEGATIVE_INFINITY } = before;
  const due = dueAt !== undefined && dueAt > now ? dueAt : undefined;
  const asked = requeue.kind === "after" ? now + requeue.ms : undefined;
  if (requeue.kind === "enqueued") return { ...before, dueAt: undefined };
  if (condition.kind !== "shown") {
    const next = asked === undefined ? due : Math.min(due ?? Number.POSITIVE_INFINITY, asked);
    return { ...before, dueAt: next };
  }
  if (asked === undefined && reason === condition.reason && due !== undefined) return before;
  const isSame = reason === condition.reason;
  const earlier = isSame ? count : 0;
  const row: Row = reasons[condition.reason];
  const delay = requeueDelay(row.requeue, earlier);
  const byReason = delay === undefined ? undefined : Math.max(resultAt, now + delay);
  const begun = (isSame ? since : undefined) ?? now;
  const stallsAt = row.stalled === "later" && now < begun + stallsAfterMs ? begun + stallsAfterMs : undefined;
  const next = asked ?? byReason;
  return {
    reason: condition.reason,
    count: earlier + 1,
    since: begun,
    dueAt: stallsAt === undefined || next === undefined ? (next ?? stallsAt) : Math.min(next, stallsAt),
  };
}
