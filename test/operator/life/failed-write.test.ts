import { expect, test } from "vitest";
import { type FailedWrite } from "../../../src/operator/life/back-off.ts";
import { earlierFailure, failedNow } from "../../../src/operator/life/failed-write.ts";
import { digest } from "../../../src/operator/resources/signature.ts";
import type { Failure } from "../../../src/operator/service-client/answer.ts";
import { clientOf, json, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const client = clientOf(new ScriptedService(() => json(200, {})), new VirtualClock());
const { fingerprint } = client;

const before = (failures: number): FailedWrite => ({
  write: "patch 7",
  fingerprint,
  reason: "ProjectBusy",
  message: "It is busy for 10 s.",
  until: 5,
  failures,
});
const busy: Failure = { kind: "busy", message: "locked" };
const lost: Failure = { kind: "ambiguous", message: "no answer" };

interface Given {
  known?: FailedWrite | undefined;
  requeue?: "backoff" | "patient";
  waitsAgain?: boolean;
  uid?: string;
}

function failing(failure: Failure, { known, requeue = "backoff", waitsAgain = false, uid = "u-1" }: Given = {}) {
  const gate = { pass: () => undefined, answered: () => {}, waitsAgain };
  const meaning = { reason: "ProjectBusy", message: "It is busy for 20 s.", requeue } as const;
  return failedNow({ write: "patch 7", uid, before: known }, failure, meaning, { client, gate });
}

test.each<[string, FailedWrite | undefined, string, string, boolean]>([
  ["none", undefined, "patch 7", fingerprint, false],
  ["this one", before(2), "patch 7", fingerprint, true],
  ["none of another generation", before(2), "patch 8", fingerprint, false],
  ["none with another key", before(2), "patch 7", "other", false],
])("the earlier failure of a write is %s", (_, failed, write, way, isEarlier) => {
  expect(earlierFailure(failed, write, { fingerprint: way })).toBe(isEarlier ? failed : undefined);
});

test("a write that failed is recorded with what it sent, with which key, why, and how often", () => {
  const failed = { write: "patch 7", fingerprint, reason: "ProjectBusy" };
  const first = failing(lost);
  expect(first).toEqual({
    failed: { ...failed, message: "It is busy for 20 s.", failures: 0 },
    waitMs: 1000,
    isEnqueued: false,
    isNews: true,
  });
  // A figure alone is no news.
  expect(failing(lost, { known: before(0) }).failed).toEqual({
    ...failed,
    message: "It is busy for 10 s.",
    failures: 1,
  });
  expect(failing(lost, { known: { ...before(4), write: "patch 6" } }).failed.failures).toBe(0);
});

test.each<[string, Failure, Given, number]>([
  ["the second failure", lost, { known: before(0) }, 2000],
  ["the third", lost, { known: before(1) }, 4000],
  ["a patient first failure", lost, { requeue: "patient" }, 5000],
  ["a patient fifth, which is not spread", lost, { requeue: "patient", known: before(3) }, 80_000],
  ["a service that asks for longer", { kind: "rateLimited", message: "", retryAfterMs: 7000 }, {}, 7000],
  ["a service that asks for less", { kind: "unavailable", message: "", retryAfterMs: 10 }, {}, 1000],
  ["a project that is busy for a time that it says", { ...busy, retryAfterMs: 3000 }, { waitsAgain: true }, 3000],
  ["a project that is busy where nothing enqueues", busy, {}, 1000],
])("after %s the write waits", (_, failure, given, waitMs) => {
  expect(failing(failure, given)).toMatchObject({ waitMs, isEnqueued: false, isNews: true });
});

test("a write of a busy project is enqueued by that, and news only the second time", () => {
  expect(failing(busy, { waitsAgain: true })).toMatchObject({ waitMs: 0, isEnqueued: true, isNews: false });
  expect(failing(busy, { waitsAgain: true, known: before(0) })).toMatchObject({
    waitMs: 0,
    isEnqueued: true,
    isNews: true,
  });
  expect(failing(lost, { waitsAgain: true })).toMatchObject({ waitMs: 1000, isEnqueued: false });
});

test("writes that failed together from the fourth time on are sent again apart, within 30 % of their back-off", () => {
  const waits = (known: FailedWrite) =>
    Array.from({ length: 200 }, (_, nth) => failing(lost, { known, uid: digest(String(nth), 32) }).waitMs);
  expect(new Set(waits(before(1)))).toEqual(new Set([4000]));
  const [least, most] = [Math.min(...waits(before(2))), Math.max(...waits(before(2)))];
  expect(least).toBeGreaterThanOrEqual(5600);
  expect(least).toBeLessThan(6000);
  expect(most).toBeLessThanOrEqual(8000);
  expect(most).toBeGreaterThan(7700);
  expect(new Set(waits(before(2))).size).toBeGreaterThan(50);
  expect(failing(lost, { known: before(2) }).waitMs / 8).not.toBe(failing(lost, { known: before(3) }).waitMs / 16);
});
