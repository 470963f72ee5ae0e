import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../../src/api/endpoint.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import {
  type ComputeFields,
  compute,
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
  ])("the first operation of an endpoint that never ran, after one %s, reads %s", (status, reason) => {
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
  ])("an edit waits for %s, for ten minutes at the longest: then it is sent, and 423 decides", (_what, seen, list) => {
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
  ])("a failed operation is not made good by %s", (_what, one, another, seen) => {
    const operations = another === undefined ? [one] : [one, another];
    expect(planned({}, seen, { list: { operations } })).toMatchObject({ reason: "OperationFailed" });
  });

  test("a failed operation is made good by a later one of another writer", () => {
    const list = { operations: [failed], lookedUp: [other("finished", at(20))] };
    expect(planned({}, {}, { list })).toMatchObject({ kind: "settled" });
    const running = { operations: [failed], lookedUp: [other("running", at(20))] };
    expect(planned({}, {}, { list: running })).toMatchObject({ reason: "OperationFailed" });
  });

  test("a failed operation is reported with what the service says of it, as far as it says anything", () => {
    const list = { operations: [failed] };
    expect(planned({}, {}, { list })).toMatchObject({
      message: expect.stringContaining("ended as failed (failed attempts: 0). Restart the compute"),
    });
  });
});

test("an endpoint that this operator disabled is enabled, once the spec no longer asks for that", () => {
  const noted = { status: { endpointID: "ep-one", disabledByUs: true } };
  expect(planned(noted, { disabled: true })).toMatchObject({ kind: "patch", attributes: { disabled: false } });
});
