import { expect, test } from "vitest";
import { requestsWhileHeld } from "./held-deletions.ts";

test("each of 1,000 deletions that the brake holds back says so once, and nothing is read for it", async () => {
  const { first, after } = await requestsWhileHeld(1000);
  expect([first.sent, after.sent]).toEqual([60, 120]);
  // Each that is sent says so, lets its finalizer go, and has one read of the CRD before it; those who wait share one.
  expect(first.patches).toBeLessThanOrEqual(1000 + 3 * 60);
  expect(first.events).toBeLessThanOrEqual(1000 + 2 * 60);
  expect(first.crdReads).toBeLessThanOrEqual(60 + 6);
  expect(after.patches).toBeLessThanOrEqual(3 * 120);
  expect(after.events).toBeLessThanOrEqual(2 * 120);
  expect(after.crdReads).toBeLessThanOrEqual(120);
  expect(first.computeReads + after.computeReads).toBeLessThanOrEqual(2);
});
