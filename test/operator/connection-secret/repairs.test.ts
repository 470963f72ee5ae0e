import { expect, test } from "vitest";
import { dataPace, Repairs, recordPace } from "../../../src/operator/connection-secret/repairs.ts";

function repairs(pace = dataPace) {
  const clock = { now: 5000, monotonic: () => clock.now };
  const made = new Repairs(clock, pace);
  /** Writes as soon as that is allowed, for so many times; returns the waits before each. */
  const waits = (count: number, source = "one") =>
    Array.from({ length: count }, () => {
      const from = clock.now;
      while (!made.mayBegin("u-1", source)) {
        const next = made.nextAt("u-1", from);
        if (next === undefined) throw new Error("nothing brings the repair that waits");
        clock.now = next;
      }
      made.done("u-1", source);
      return clock.now - from;
    });
  return { clock, made, waits };
}

test("the first write and the first repair come at once, and the next ones after waits that double up to a minute", () => {
  const { waits } = repairs();
  expect(waits(10)).toEqual([0, 0, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

test("a record that is taken away is written again hourly, from the first time on", () => {
  const { waits } = repairs(recordPace);
  expect(waits(4)).toEqual([0, 3_600_000, 3_600_000, 3_600_000]);
});

test("a write for another declaration comes at once, and so does one after ten minutes", () => {
  const { clock, made, waits } = repairs();
  waits(10);
  expect(made.mayBegin("u-1", "two")).toBe(true);
  expect(made.mayBegin("u-2", "one")).toBe(true);
  clock.now += 600_000;
  expect(waits(3)).toEqual([0, 0, 1000]);
});

test("a repair that no longer waits is due at no time, and a Compute that is gone leaves nothing", () => {
  const { clock, made, waits } = repairs();
  waits(2);
  expect(made.nextAt("u-1", clock.now)).toBeUndefined();
  expect(made.mayBegin("u-1", "one")).toBe(false);
  expect(made.nextAt("u-1", clock.now)).toBe(clock.now + 1000);
  expect(made.nextAt("u-1", clock.now + 1000)).toBeUndefined();
  made.forget("u-1");
  expect(made.nextAt("u-1", clock.now)).toBeUndefined();
  expect(made.mayBegin("u-1", "one")).toBe(true);
});
