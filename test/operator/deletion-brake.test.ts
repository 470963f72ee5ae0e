import { expect, test } from "vitest";
import { DeletionBrake } from "../../src/operator/deletion-brake.ts";
import { VirtualClock } from "../support/virtual-clock.ts";

const minute = 60_000;

test("no more deletions go in any minute than are allowed, and each counts for a minute", async () => {
  const clock = new VirtualClock();
  const brake = new DeletionBrake(clock, 3);
  const ask = (times: number) => Array.from({ length: times }, (_, n) => brake.release(`uid-${n}`));
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
  brake.release("first");
  for (let n = 0; n < 100; n += 1) brake.release("other");
  await clock.advance(minute);
  expect(brake.release("other")).toBe(true);
});

test("tells how many are held back, until they go or no longer ask", async () => {
  const clock = new VirtualClock();
  const brake = new DeletionBrake(clock, 1);
  for (const who of ["goes", "waits", "waits too", "waits"]) brake.release(who);
  expect(brake.held).toBe(2);
  await clock.advance(minute / 2);
  brake.release("waits");
  await clock.advance(minute / 2);
  expect([brake.held, brake.release("waits"), brake.held]).toEqual([1, true, 0]);
});
