import { expect, test } from "vitest";
import { DeletionBrake } from "../../src/operator/deletion-brake.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

const minute = 60_000;

test("no more deletions go in any minute than are allowed, and each counts for a minute", async () => {
  const clock = new VirtualClock();
  const brake = new DeletionBrake(clock, 3);
  const ask = (times: number) => Array.from({ length: times }, () => brake.release());
  expect(ask(2)).toEqual([true, true]);
  await clock.advance(30_000);
  expect(ask(3)).toEqual([true, false, false]);
  await clock.advance(29_999);
  expect(ask(1)).toEqual([false]);
  await clock.advance(1);
  expect(ask(3)).toEqual([true, true, false]);
});

test("a wish that is not granted counts for nothing", async () => {
  const clock = new VirtualClock();
  const brake = new DeletionBrake(clock, 1);
  brake.release();
  for (let n = 0; n < 100; n += 1) brake.release();
  await clock.advance(minute);
  expect(brake.release()).toBe(true);
});
