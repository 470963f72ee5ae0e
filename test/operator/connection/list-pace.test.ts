import { expect, it } from "vitest";
import { ListPace } from "../../../src/operator/connection/list-pace.ts";

/** When lists begin that are wanted without end from `now` on. */
function begun(pace: ListPace, now: number, count: number): number[] {
  return Array.from({ length: count }, () => {
    now = Math.max(now, pace.earliest);
    pace.begin(now);
    return now;
  });
}

it("lets four lists begin in a row, then one a second", () => {
  expect(begun(new ListPace(), 1000, 7)).toEqual([1000, 1000, 1000, 1000, 2000, 3000, 4000]);
});

it("lets four begin in a row again after a rest", () => {
  const pace = new ListPace();
  begun(pace, 1000, 4);
  expect(begun(pace, 5000, 5)).toEqual([5000, 5000, 5000, 5000, 6000]);
});

it("lets no more begin in a minute than 63, whatever is wanted", () => {
  expect(begun(new ListPace(), 0, 1000).filter((at) => at < 60_000)).toHaveLength(63);
});
