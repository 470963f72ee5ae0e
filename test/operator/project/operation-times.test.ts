import { expect, it } from "vitest";
import { OperationTimes } from "../../../src/operator/project/operation-times.ts";
import { operation } from "../../support/builders.ts";

/** An operation that took so long. */
function ended(ms: number, fields: object = {}) {
  const from = Date.UTC(2026, 0, 1, 0, 0, 0, 5);
  const at = (time: number) => new Date(time).toISOString();
  return operation({
    action: "start_compute",
    status: "finished",
    created_at: at(from),
    updated_at: at(from + ms),
    ...fields,
  });
}

it("expects the more the less even they are, and follows a change", () => {
  const times = new OperationTimes();
  for (let n = 0; n < 30; n += 1) times.ended(ended(n % 2 === 0 ? 300 : 500));
  expect(times.expectedOf("start_compute")).toBeGreaterThan(500);
  for (let n = 0; n < 60; n += 1) times.ended(ended(1000));
  expect(times.expectedOf("start_compute")).toBeCloseTo(1000, 0);
});

it("expects an operation within two deviations of the mean", () => {
  const times = new OperationTimes();
  for (const ms of [1000, 2000]) times.ended(ended(ms));
  expect(times.expectedOf("start_compute")).toBeCloseTo(1200 + 2 * 200, 6);
});

it("learns nothing from one that failed or is in progress", () => {
  const times = new OperationTimes();
  for (const status of ["failed", "running", "cancelled"]) times.ended(ended(400, { status }));
  expect(times.expectedOf("start_compute")).toBeUndefined();
});

it("takes the duration that the service states where its times are whole seconds", () => {
  const times = new OperationTimes();
  const whole = { created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:01Z" };
  times.ended(ended(0, { ...whole, total_duration_ms: 70 }));
  expect(times.expectedOf("start_compute")).toBe(70);
  const others = new OperationTimes();
  others.ended(ended(0, whole));
  expect(others.expectedOf("start_compute")).toBe(1000);
});

it.each([
  ["its times, where they have milliseconds, before what the service states", { total_duration_ms: 70 }, 400],
  [
    "its times, where only its start is a whole second",
    { created_at: "2026-01-01T00:00:00Z", total_duration_ms: 70 },
    405,
  ],
  ["no time at all, where it ended when it began", { updated_at: "2026-01-01T00:00:00.005Z" }, 0],
  [
    "what the service states, where the end is before the start",
    { updated_at: "2025-12-31T23:59:59.900Z", total_duration_ms: 70 },
    70,
  ],
  ["nothing, where the end is before the start", { updated_at: "2025-12-31T23:59:59.900Z" }, undefined],
  ["what the service states, where it shows no times", { created_at: undefined, total_duration_ms: 70 }, 70],
  ["nothing, where it shows no times", { created_at: undefined }, undefined],
])("takes %s", (_, fields, expected) => {
  const times = new OperationTimes();
  times.ended(ended(400, fields));
  expect(times.expectedOf("start_compute")).toBe(expected);
});
