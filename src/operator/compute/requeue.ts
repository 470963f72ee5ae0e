import type { Outcome } from "./outcome.ts";
import type { ReadonlyState, Remembered } from "./remembered.ts";
import { reasons, requeueDelay } from "./status/reasons.ts";

/**
 * When a Compute is due after a reconcile: as the action or its reason says; one that is due sooner stays. Where the
 * reason says, not before the result of the write under way is expected.
 */
export function nextRequeue(
  { condition, requeue }: Outcome,
  { requeue: before }: ReadonlyState,
  now: number,
): Pick<Remembered["requeue"], "reason" | "count" | "dueAt"> {
  const { reason, count, dueAt, resultAt = Number.NEGATIVE_INFINITY } = before;
  const due = dueAt !== undefined && dueAt > now ? dueAt : undefined;
  const asked = requeue.kind === "after" ? now + requeue.ms : undefined;
  if (requeue.kind === "enqueued") return { reason, count, dueAt: undefined };
  if (condition.kind !== "shown") {
    const next = asked === undefined ? due : Math.min(due ?? Number.POSITIVE_INFINITY, asked);
    return { reason, count, dueAt: next };
  }
  if (asked === undefined && reason === condition.reason && due !== undefined) return before;
  const earlier = reason === condition.reason ? count : 0;
  const delay = requeueDelay(reasons[condition.reason].look, earlier);
  const byReason = delay === undefined ? undefined : Math.max(resultAt, now + delay);
  return { reason: condition.reason, count: earlier + 1, dueAt: asked ?? byReason };
}
