import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Backoff, delayOf } from "../../../src/operator/runtime/clock.ts";

const backoff: Backoff = { baseMs: 100, factor: 2, maxMs: 1000, jitter: 0 };

test.each([
  [1, 100],
  [2, 200],
  [3, 400],
  [4, 800],
  [5, 1000],
  [6, 1000],
  [100_000, 1000],
])("the wait after %i failures is %i ms", (failures, expected) => {
  expect(delayOf(backoff, failures, () => 0.5)).toBe(expected);
});

test("the wait never shrinks with more failures", () => {
  const anyBackoff = fc.record({
    baseMs: fc.integer({ min: 1, max: 10_000 }),
    factor: fc.double({ min: 1, max: 10, noNaN: true }),
    maxMs: fc.integer({ min: 1, max: 3_600_000 }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(anyBackoff, fc.nat(10_000), fc.double({ min: 0, max: 1, noNaN: true }), (any, failures, chance) => {
      const wait = delayOf(any, failures, () => chance);
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(any.maxMs);
      expect(delayOf(any, failures + 1, () => chance)).toBeGreaterThanOrEqual(wait);
    }),
  );
});
