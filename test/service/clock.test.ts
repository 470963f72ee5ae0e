import { expect, it } from "vitest";
import { limited } from "../../src/service/clock.ts";
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
