import { expect, it } from "vitest";
import { AdvanceableClock, limited } from "../../src/service/clock.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

it.each([
  ["resolves", () => Promise.resolve(1)],
  ["rejects", () => Promise.reject(new Error("broken"))],
])("a step that %s in time is not late afterwards", async (_, step) => {
  const clock = new VirtualClock();
  let isLate = false;
  await limited(clock, 1000, () => (isLate = true), step()).catch(() => {});
  await clock.advance(2000);
  expect(isLate).toBe(false);
});

it("a step that takes longer is late once, and its result is waited for all the same", async () => {
  const clock = new VirtualClock();
  const { promise, resolve } = Promise.withResolvers<string>();
  const late: number[] = [];
  const ended = limited(clock, 1000, () => late.push(clock.now()), promise);
  const begun = clock.now();
  await clock.advance(5000);
  resolve("done");
  expect([await ended, late]).toEqual(["done", [begun + 1000]]);
});

it("a clock that is advanced has a wall time for each of its own, that of the advance for what was skipped", async () => {
  const wall = new VirtualClock();
  const clock = new AdvanceableClock(wall);
  const begun = wall.now();
  for (const ms of [5000, 7000]) {
    await wall.advance(1000);
    clock.advance(ms);
  }
  const wallOf = (ms: number) => clock.wallOf(begun + ms) - begun;
  expect([0, 999, 1000, 5999, 6000, 6999, 7000, 13_999, 14_000, 15_000].map(wallOf)).toEqual([
    0, 999, 1000, 1000, 1000, 1999, 2000, 2000, 2000, 3000,
  ]);
  for (const ms of [0, 500, 1500, 2500]) expect(wallOf(clock.ofWall(begun + ms) - begun)).toBe(ms);
});

it("a clock that is advanced ten thousand times tells the last thousand of them from one another", async () => {
  const wall = new VirtualClock();
  const clock = new AdvanceableClock(wall);
  const begun = wall.now();
  for (let count = 0; count < 10_000; count += 1) {
    await wall.advance(1);
    clock.advance(9);
  }
  const at = (ms: number) => clock.ofWall(begun + ms) - begun;
  expect([clock.now() - begun, at(0), at(9000), at(9001), at(9002)]).toEqual([100_000, 0, 9000, 90_010, 90_020]);
  for (const ms of [9001, 9500, 10_000]) expect(clock.wallOf(begun + at(ms)) - begun).toBe(ms);
});
