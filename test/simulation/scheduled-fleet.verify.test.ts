import { expect, test } from "vitest";
import { perMinute } from "./large-fleet.ts";
import { boundaryBesideEdits, settledHour, windowAfterEdits } from "./scheduled-fleet.ts";

/** With the default request budget. */
const fleet = { computes: 1000, projects: 10, requestBudget: { perMinute, burst: 40 } };

test("1,000 settled Computes with schedules and windows take not one request, patch or reconcile more", {
  timeout: 600_000,
}, async () => {
  const scheduled = await settledHour(fleet, true);
  expect(scheduled).toEqual(await settledHour(fleet, false));
  expect(scheduled).toMatchObject({ writes: 0, reasons: { Active: 1000 } });
  // Ten projects are each listed twice a minute.
  expect(Math.abs(scheduled.reads - 10 * 120)).toBeLessThanOrEqual(20);
});

test("at a boundary 1,000 Computes are changed once each within the budget, and as soon as by an edit", {
  timeout: 600_000,
}, async () => {
  const { edits, boundary } = await boundaryBesideEdits(fleet);
  expect(boundary).toMatchObject({ writes: 1000, endpoints: 1000, reasons: { Active: 1000 } });
  expect(boundary.firstAfterMs).toBeGreaterThanOrEqual(0);
  expect(boundary.lastAfterMs).toBeLessThanOrEqual(1.1 * edits.lastAfterMs);
  expect(boundary.mostAMinute).toBeLessThanOrEqual(perMinute + 40);
  expect(boundary.reconciles).toBeLessThanOrEqual(1.2 * edits.reconciles);
});

test("1,000 edits that wait for a window are sent once each, within the budget, when it opens", {
  timeout: 600_000,
}, async () => {
  const { closed, open } = await windowAfterEdits(fleet);
  expect(closed).toMatchObject({ writes: 0, reasons: { WaitingForWindow: 1000 } });
  expect(open).toMatchObject({ writes: 1000, endpoints: 1000, reasons: { Active: 1000 } });
  expect(open.firstAfterMs).toBeGreaterThanOrEqual(0);
  expect(open.mostAMinute).toBeLessThanOrEqual(perMinute + 40);
});
