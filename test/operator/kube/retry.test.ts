import { expect, test } from "vitest";
import { ClusterError, ClusterUnreachable } from "../../../src/operator/kube/errors.ts";
import { delayAfter, isPersistent, needsList } from "../../../src/operator/kube/retry.ts";

const refused = (status: number, more: { retryAfterMs?: number; reason?: string; causes?: string[] } = {}) =>
  new ClusterError({ status, reason: "", message: "watch /x: no", ...more });
const lost = new ClusterUnreachable("watch /x: no answer");
const minute = 60_000;

/** Without jitter, so that a wait is the whole back-off. */
const most = () => 1;

test.each<[string, unknown, number, number]>([
  ["the first failure", lost, 1, 400],
  ["the second", lost, 2, 800],
  ["many", lost, 20, 30_000],
  ["a server that asks for more", refused(429, { retryAfterMs: 5000 }), 1, 5000],
  ["a server that asks for less", refused(429, { retryAfterMs: 100 }), 1, 400],
  ["a server that asks for an hour", refused(429, { retryAfterMs: 60 * minute }), 1, 5 * minute],
])("the wait after %s is right", (_, error, failures, ms) => {
  const waits = [most, () => 0].map((random) => delayAfter(error, failures, random));
  expect(Math.max(...waits)).toBe(ms);
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(ms / 2);
});

test.each<[string, unknown, number, number, boolean]>([
  ["a version that is gone, at once", refused(410), 1, 0, true],
  ["an expired version, at once", refused(400, { reason: "Expired" }), 1, 0, true],
  ["no answer, however often", lost, 100, 60 * minute, false],
  ["an overload", refused(429), 100, 15 * minute - 1, false],
  ["an overload of a quarter of an hour", refused(429), 1, 15 * minute, true],
  ["an error of the server", refused(500), 100, 0, false],
  ["a second refusal", refused(403), 2, 60 * minute, false],
  ["a third refusal", refused(403), 3, 0, true],
  ["a version that is too large twice", refused(504, { causes: ["ResourceVersionTooLarge"] }), 2, 60 * minute, false],
  ["a version that is too large three times", refused(504, { causes: ["ResourceVersionTooLarge"] }), 3, 0, true],
])("a watch that ended with %s is followed by a list if that helps", (_, error, failures, silentMs, list) => {
  expect(needsList(error, failures, silentMs)).toBe(list);
});

test("the third failure in a row deserves a warning", () => {
  expect([1, 2, 3, 4].map(isPersistent)).toEqual([false, false, true, true]);
});
