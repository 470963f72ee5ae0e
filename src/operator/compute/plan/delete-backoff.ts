import type { PlanInput } from "../observe/plan-input.ts";

/** How long lists may still show what was deleted before it is deleted once more, in milliseconds: ever longer. */
const firstAgainMs = 30_000;
const mostAgainMs = 3_600_000;

/**
 * In how many milliseconds a DELETE of this endpoint may be sent; 0: now. A service that says it is deleted, or not
 * there, and lists it still is not asked in a loop: each would use up a deletion that the brake lets out for somebody
 * else.
 */
export function deleteDueInMs({ memory, now }: PlanInput, endpointID: string): number {
  const answered = memory.answeredDeletes.get(endpointID);
  if (answered === undefined) return 0;
  return Math.max(0, answered.at + Math.min(mostAgainMs, firstAgainMs * 2 ** answered.before) - now);
}
