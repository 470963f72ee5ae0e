import { expect, test } from "vitest";
import { boundaryBesideEdits, settledHour, windowAfterEdits } from "./scheduled-fleet.ts";

const fleet = { computes: 80, projects: 2, requestBudget: { perMinute: 60, burst: 10 } };
const each = { writes: 80, endpoints: 80 };
const mostAMinute = 60 + 10;

test("a settled fleet with schedules and windows takes the requests and reconciles that it takes without", {
  timeout: 120_000,
}, async () => {
  const [without, scheduled] = [await settledHour(fleet, false), await settledHour(fleet, true)];
  expect(scheduled).toEqual(without);
  expect(scheduled).toMatchObject({ writes: 0, reasons: { Active: 80 } });
  expect(scheduled.written["PATCH computes"]).toBeUndefined();
  // Two projects are each listed twice a minute.
  expect(Math.abs(scheduled.reads - 2 * 120)).toBeLessThanOrEqual(4);
});

test("at a boundary each Compute is changed once, within the budget, at a service that locks, as by an edit", {
  timeout: 120_000,
}, async () => {
  const { edits, boundary } = await boundaryBesideEdits(fleet);
  expect(boundary).toMatchObject({ ...each, reasons: { Active: 80 } });
  expect(boundary.firstAfterMs).toBeGreaterThanOrEqual(0);
  expect(boundary.lastAfterMs).toBeLessThanOrEqual(1.1 * edits.lastAfterMs);
  expect(boundary.refused).toBeGreaterThan(0);
  expect(boundary.mostAMinute).toBeLessThanOrEqual(mostAMinute);
  expect(boundary.reconciles).toBeLessThanOrEqual(1.2 * edits.reconciles);
  expect(boundary.written["PATCH computes"]).toBeLessThanOrEqual(1.2 * (edits.written["PATCH computes"] ?? 0));
  // Two projects are each listed twice a minute for half an hour.
  expect(boundary.reads).toBeLessThanOrEqual(2 * 60 + 20);
});

test("edits that wait for a window are sent once each when it opens, and none before", {
  timeout: 120_000,
}, async () => {
  const { closed, open } = await windowAfterEdits(fleet);
  expect(closed).toMatchObject({ writes: 0, reasons: { WaitingForWindow: 80 } });
  expect(closed.written["PATCH computes"]).toBe(80);
  expect(open).toMatchObject({ ...each, reasons: { Active: 80 } });
  expect(open.firstAfterMs).toBeGreaterThanOrEqual(0);
  expect(open.mostAMinute).toBeLessThanOrEqual(mostAMinute);
  expect(open.reads).toBeLessThanOrEqual(2 * 60 + 20);
});
