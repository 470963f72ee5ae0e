import type { Compute } from "../resources/compute.ts";
import { annotation, reconcileRequested } from "./observe/plan-input.ts";
import type { Outcome } from "./outcome.ts";
import type { ReconcileState } from "./state.ts";
import { reasons, requeueDelay } from "./status/reasons.ts";

/**
 * A look that is due, or that a person asked for, wants a list from after that; unless operations of its endpoint are
 * followed, for their end brings one. `now` on the monotonic clock.
 */
export function expireLists(compute: Compute, memory: ReconcileState, isFollowed: boolean, now: number): void {
  const { dueAt } = memory.requeue;
  if (dueAt !== undefined && now >= dueAt) {
    if (!isFollowed) memory.listsCountAfter = Math.max(memory.listsCountAfter, dueAt);
    memory.requeue.dueAt = undefined;
  }
  const asked = annotation(compute, "reconcileRequestedAt");
  if (reconcileRequested(compute) && asked !== undefined && memory.handledReconcileRequest !== asked) {
    memory.handledReconcileRequest = asked;
    memory.listsCountAfter = now;
    delete memory.failedWrite;
  }
}

/** When to look again: what a step asked for, else what its reason says; a look that is already due sooner stays. */
export function requeueAfter(
  { condition, requeueAfterMs, isWoken, released }: Outcome,
  memory: ReconcileState,
  now: number,
): number | undefined {
  if (released) return undefined;
  const { requeue } = memory;
  const due = requeue.dueAt !== undefined && requeue.dueAt > now ? requeue.dueAt : undefined;
  if (isWoken === true) requeue.dueAt = undefined;
  else if (condition.kind === "unchanged") {
    requeue.dueAt =
      requeueAfterMs === undefined ? due : Math.min(due ?? Number.POSITIVE_INFINITY, now + requeueAfterMs);
  } else if (requeueAfterMs !== undefined || requeue.reason !== condition.reason || due === undefined) {
    if (requeue.reason !== condition.reason) memory.requeue = { reason: condition.reason, count: 0, dueAt: undefined };
    const delay = requeueAfterMs ?? requeueDelay(reasons[condition.reason].look, memory.requeue.count);
    memory.requeue.count += 1;
    memory.requeue.dueAt = delay === undefined ? undefined : now + delay;
  }
  // A reading that is overdue waits for what keeps it: that brings news.
  const readAt = memory.secretDueAt !== undefined && memory.secretDueAt > now ? [memory.secretDueAt] : [];
  const next = Math.min(memory.requeue.dueAt ?? Number.POSITIVE_INFINITY, ...readAt);
  return next === Number.POSITIVE_INFINITY ? undefined : Math.max(1, next - now);
}
