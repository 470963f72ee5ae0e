import type { Compute } from "../resources/compute.ts";
import type { Memory } from "./memory.ts";
import { annotation, freshLookAsked } from "./observe/view.ts";
import type { Outcome } from "./outcome.ts";
import { nextLook, reasons } from "./reasons.ts";

/**
 * A look that is due, or that a person asked for, wants a list from after that; unless operations of its endpoint are
 * followed, for their end brings one. `now` on the monotonic clock.
 */
export function renewLists(compute: Compute, memory: Memory, isFollowed: boolean, now: number): void {
  const { dueAt } = memory.looks;
  if (dueAt !== undefined && now >= dueAt) {
    if (!isFollowed) memory.listsCountAfter = Math.max(memory.listsCountAfter, dueAt);
    memory.looks.dueAt = undefined;
  }
  const asked = annotation(compute, "reconcileRequestedAt");
  if (freshLookAsked(compute) && asked !== undefined && memory.freshLookFor !== asked) {
    memory.freshLookFor = asked;
    memory.listsCountAfter = now;
    delete memory.held;
  }
}

/** When to look again: what a step asked for, else what its reason says; a look that is already due sooner stays. */
export function lookAfter(
  { verdict, lookInMs, isWoken, released }: Outcome,
  memory: Memory,
  now: number,
): number | undefined {
  if (released) return undefined;
  const { looks } = memory;
  const due = looks.dueAt !== undefined && looks.dueAt > now ? looks.dueAt : undefined;
  if (isWoken === true) looks.dueAt = undefined;
  else if (verdict.kind === "unchanged") {
    looks.dueAt = lookInMs === undefined ? due : Math.min(due ?? Number.POSITIVE_INFINITY, now + lookInMs);
  } else if (lookInMs !== undefined || looks.reason !== verdict.reason || due === undefined) {
    if (looks.reason !== verdict.reason) memory.looks = { reason: verdict.reason, count: 0, dueAt: undefined };
    const delay = lookInMs ?? nextLook(reasons[verdict.reason].look, memory.looks.count);
    memory.looks.count += 1;
    memory.looks.dueAt = delay === undefined ? undefined : now + delay;
  }
  // A reading that is overdue waits for what keeps it: that brings news.
  const readAt = memory.secretDueAt !== undefined && memory.secretDueAt > now ? [memory.secretDueAt] : [];
  const next = Math.min(memory.looks.dueAt ?? Number.POSITIVE_INFINITY, ...readAt);
  return next === Number.POSITIVE_INFINITY ? undefined : Math.max(1, next - now);
}
