import { expect, it } from "vitest";
import { ListRateLimiter } from "../../../src/operator/connection/list-rate-limiter.ts";

/** When lists begin that are wanted without end from `now` on. */
function begun(pace: ListRateLimiter, now: number, count: number): number[] {
  return Array.from({ length: count }, () => {
    now = Math.max(now, pace.earliest);
    pace.begin(now);
    return now;
  });
}

it("lets four lists begin in a row, then one a second", () => {
  expect(begun(new ListRateLimiter(), 1000, 7)).toEqual([1000, 1000, 1000, 1000, 2000, 3000, 4000]);
});

it("lets four begin in a row again after a rest", () => {
  const pace = new ListRateLimiter();
  begun(pace, 1000, 4);
  expect(begun(pace, 5000, 5)).toEqual([5000, 5000, 5000, 5000, 6000]);
});

it("lets no more begin in a minute than 63, whatever is wanted", () => {
  expect(begun(new ListRateLimiter(), 0, 1000).filter((at) => at < 60_000)).toHaveLength(63);
});
