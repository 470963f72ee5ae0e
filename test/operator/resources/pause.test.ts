import { expect, test } from "vitest";
import { pausedForMs, pausedUntil, pauseEndsInMs } from "../../../src/operator/resources/pause.ts";

const noon = Date.parse("2026-01-01T12:00:00Z");
const hour = 3_600_000;

const paused = (value: string | undefined) => ({
  metadata: {
    name: "a",
    uid: "u-1",
    resourceVersion: "1",
    ...(value === undefined ? {} : { annotations: { "compute-operator.dev/paused": value } }),
  },
});

test.each<[string | undefined, number | undefined, boolean]>([
  [undefined, undefined, false],
  ["false", undefined, false],
  ["true", Number.POSITIVE_INFINITY, false],
  ["", Number.POSITIVE_INFINITY, false],
  ["False", Number.POSITIVE_INFINITY, false],
  ["ture", Number.POSITIVE_INFINITY, false],
  ["2026-01-01", Number.POSITIVE_INFINITY, false],
  ["2026-02-31T13:00:00Z", Number.POSITIVE_INFINITY, false],
  ["2026-13-01T13:00:00Z", Number.POSITIVE_INFINITY, false],
  ["2026-01-01T13:00:00Z", hour, true],
  ["2026-01-01t13:00:00z", hour, true],
  ["2026-01-01T13:00:00.5Z", hour + 500, true],
  ["2026-01-01T14:00:00+01:00", hour, true],
  ["2026-01-01T12:00:00.001Z", 1, true],
  ["2026-01-01T12:00:00Z", undefined, true],
  ["2026-01-01T11:59:59Z", undefined, true],
])("the annotation paused of %j holds an object for %j ms, and is a time: %j", (value, ms, isTime) => {
  expect(pausedForMs(paused(value), noon)).toBe(ms);
  expect(pausedUntil(paused(value))).toBe(isTime ? value : undefined);
});

test("a pause that has no end needs no timer, and no timer is longer than 24 days", () => {
  expect(pauseEndsInMs(Number.POSITIVE_INFINITY)).toBeUndefined();
  expect([hour, 24 * 24 * hour, 25 * 24 * hour].map(pauseEndsInMs)).toEqual([hour, 24 * hour, 24 * hour]);
});
