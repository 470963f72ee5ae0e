import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../../src/api/endpoint.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import {
  type ComputeFields,
  compute,
  createMark,
  type InputFields,
  input,
  madeBy,
  now,
  operation,
} from "../../../support/builders.ts";

/** A linked Compute at rest, as this endpoint and these other facts show it. */
function planned(fields: ComputeFields, seen: Partial<Endpoint> = {}, rest: InputFields = {}) {
  const self = compute({ linked: "ep-one", shows: "Active", ...fields });
  return plan(...input({ compute: self, endpoints: [madeBy(self, seen)], ...rest }));
}

const at = (minutes: number) => `2026-01-01T00:${String(minutes).padStart(2, "0")}:00Z`;

describe("what an operation in progress does", () => {
  test.each([
    ["start_compute", "Starting"],
    ["apply_config", "Updating"],
  ])("%s is called %s where no condition says what was begun", (action, reason) => {
    const list = { operations: [operation({ action })] };
    expect(planned({}, {}, { list })).toMatchObject({ kind: "wait", reason });
  });

  test.each([
    ["finished", "Creating"],
    ["failed", "OperationFailed"],
  ])("of an endpoint that never ran, after one %s: %s", (status, reason) => {
    const list = { operations: [operation({ status })] };
    expect(planned({}, { current_state: "init" }, { list })).toMatchObject({ kind: "wait", reason });
  });
});

describe("an edit while a change of the endpoint is in progress", () => {
  const edited = { spec: { disabled: true } };
  const minutes = (count: number) => count * 60_000;

  test.each<[string, Partial<Endpoint>, InputFields["list"]]>([
    ["an operation", {}, { operations: [operation()] }],
    ["a first start", { current_state: "init" }, {}],
  ])("waits for %s, for ten minutes at the longest: then it is sent, and 423 decides", (_what, seen, list) => {
    const since = (ms: number) =>
      planned(edited, { disabled: false, ...seen }, { list: { ...list, busySince: now - ms } });
    expect(since(minutes(10) - 1)).toMatchObject({ kind: "wait" });
    expect(since(minutes(10))).toMatchObject({ kind: "patch", fields: ["disabled"] });
  });

  test("leaves a Compute without one in progress, however long that takes", () => {
    const list = { operations: [operation()], busySince: now - minutes(600) };
    expect(planned({}, {}, { list })).toMatchObject({ kind: "wait", reason: "Updating" });
  });
});

describe("an operation that failed", () => {
  const failed = operation({ id: "op-1", status: "failed", created_at: at(10), updated_at: at(12) });
  const { updated_at: _, ...untimed } = failed;
  const other = (status: string, created_at: string) => operation({ id: "op-2", status, created_at });

  test.each([
    ["an earlier one that succeeded", failed, other("finished", at(5)), {}],
    [
      "an earlier one, where the service does not show when the failed one ended",
      untimed,
      other("finished", at(5)),
      {},
    ],
    ["one begun in the moment in which it ended", failed, other("finished", at(12)), {}],
    ["a later one that was cancelled", failed, other("cancelled", at(20)), {}],
    ["a start in the moment in which it ended", failed, undefined, { started_at: at(12) }],
    ["an earlier start", failed, undefined, { started_at: at(5) }],
    ["a later start of a compute that is idle", failed, undefined, { started_at: at(20), current_state: "idle" }],
  ])("is not made good by %s", (_what, one, another, seen) => {
    const operations = another === undefined ? [one] : [one, another];
    expect(planned({}, seen, { list: { operations } })).toMatchObject({ reason: "OperationFailed" });
  });

  test("is made good by a later one of another writer", () => {
    const list = { operations: [failed], lookedUp: [other("finished", at(20))] };
    expect(planned({}, {}, { list })).toMatchObject({ kind: "settled" });
    const running = { operations: [failed], lookedUp: [other("running", at(20))] };
    expect(planned({}, {}, { list: running })).toMatchObject({ reason: "OperationFailed" });
  });

  test("is reported with what the service says of it, as far as it says anything", () => {
    const list = { operations: [failed] };
    expect(planned({}, {}, { list })).toMatchObject({
      message: expect.stringContaining("ended as failed (failed attempts: 0). Restart the compute"),
    });
  });
});

describe("a Compute at rest is reconciled again", () => {
  const mark = { annotations: { pendingCreate: createMark({ resent: true }) } };
  const seenAgo = (ms: number) => ({ pendingCreate: { since: "2026-01-01T00:00:00Z", seenAt: now - ms } });

  test("at the earliest of the times that something falls due", () => {
    const self = compute({ linked: "ep-one", shows: "Active", ...mark, status: { unansweredDisables: 1 } });
    const endpoints = [madeBy(self), madeBy(self, { id: "ep-two" })];
    const due = (createMs: number, deleteMs: number, disableMs: number) =>
      plan(
        ...input({
          compute: self,
          endpoints,
          state: {
            ...seenAgo(60_000 - createMs),
            answeredDeletes: new Map([["ep-two", { at: now - 30_000 + deleteMs, before: 0 }]]),
            unansweredDisableSince: now - 60_000 + disableMs,
          },
        }),
      );
    expect(due(5000, 6000, 7000)).toMatchObject({ kind: "settled", requeueAfterMs: 5000 });
    expect(due(6000, 5000, 7000)).toMatchObject({ kind: "settled", requeueAfterMs: 5000 });
    expect(due(7000, 6000, 5000)).toMatchObject({ kind: "settled", requeueAfterMs: 5000 });
  });

  test.each([
    ["that drifted", { driftPolicy: "Report" }, { disabled: false }, "Drifted"],
    ["that cannot be read", {}, { unreadable: ["disabled"] }, "ServiceUnavailable"],
  ])("also with a field %s", (_, spec, seen, reason) => {
    const fields = { ...mark, spec: { disabled: true, ...spec } };
    const action = planned(fields, seen, { state: seenAgo(20_000) });
    expect(action).toMatchObject({ reason, requeueAfterMs: 40_000 });
  });
});

describe("a disabling PATCH without an answer", () => {
  const sent = { status: { unansweredDisables: 1 } };
  const begunAgo = (ms: number) => ({ state: { unansweredDisableSince: now - ms } });

  test("is over once a list was begun --create-settle later", () => {
    expect(planned(sent, {}, begunAgo(60_100))).toMatchObject({ kind: "settled", disablesOver: true });
    expect(planned({}, {}, begunAgo(60_100))).not.toHaveProperty("disablesOver");
    const drifting = { ...sent, spec: { driftPolicy: "Report", disabled: false } };
    expect(planned(drifting, { disabled: true }, begunAgo(60_100))).toMatchObject({
      reason: "Drifted",
      disablesOver: true,
    });
  });

  test.each([
    ["that time is not over", 1000, 59_000],
    ["a list from before is the latest", 60_050, 1],
  ])("may take effect while %s", (_, agoMs, requeueAfterMs) => {
    const action = planned(sent, {}, begunAgo(agoMs));
    expect(action).toMatchObject({ kind: "settled", requeueAfterMs });
    expect(action).not.toHaveProperty("disablesOver");
  });
});

describe("an endpoint that this operator disabled, and the spec no longer asks for that", () => {
  const ours = { status: { disabledByUs: true } };
  const enabled = { disabled: false };

  test.each([
    ["since it was last seen disabled", { disabledAt: now - 4000 }, 6000],
    ["since this process first saw the Compute", { seenSince: now - 3000 }, 7000],
    ["until a list is begun", { disabledAt: now - 10_050 }, 1],
  ])("may be disabled although a list shows it enabled, for 10 s %s", (_, state, requeueAfterMs) => {
    const action = planned(ours, enabled, { state });
    expect(action).toMatchObject({ kind: "settled", reason: "Active", mayBeDisabled: true, requeueAfterMs });
  });

  test("may have its place taken by an earlier create, for which it waits as long as for that", () => {
    const state = { disabledAt: Number.NEGATIVE_INFINITY, pendingCreate: { since: at(0), seenAt: now - 20_000 } };
    const action = planned({ ...ours, annotations: { pendingCreate: createMark({ resent: true }) } }, enabled, {
      state,
    });
    expect(action).toMatchObject({ kind: "settled", mayBeDisabled: true, requeueAfterMs: 40_000 });
  });

  test.each<[string, ComputeFields, Partial<Endpoint>, number]>([
    ["a list was begun after that", ours, enabled, now - 10_100],
    ["it was enabled since", ours, enabled, Number.NEGATIVE_INFINITY],
    ["somebody else disabled it", {}, enabled, now],
    ["the spec asks for it", { ...ours, spec: { disabled: true, driftPolicy: "Report" } }, enabled, now],
    ["the service never shows it", ours, {}, now],
  ])("is settled where %s", (_, fields, seen, disabledAt) => {
    const action = planned({ ...fields, status: { appliedGeneration: 1, ...fields.status } }, seen, {
      state: { disabledAt },
    });
    expect(action.kind).toBe("settled");
    expect(action).not.toHaveProperty("mayBeDisabled");
    expect(action).not.toHaveProperty("requeueAfterMs");
  });
});
