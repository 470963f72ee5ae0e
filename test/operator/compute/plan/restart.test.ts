import { describe, expect, test } from "vitest";
import type { Operation } from "../../../../src/api/operation.ts";
import { annotationsOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { shown } from "../../../../src/operator/compute/outcome.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { nextStatus } from "../../../../src/operator/compute/status/status.ts";
import { type ComputeFields, compute, input, madeBy, now, operation, uidOf } from "../../../support/builders.ts";

const before = "2026-01-01T10:00:00Z";
const after = "2026-01-01T10:00:05Z";

function restarting(fields: ComputeFields = {}, mark?: object): ReturnType<typeof compute> {
  const whole = JSON.stringify({
    uid: uidOf("a"),
    since: before,
    value: "second",
    newestOperation: before,
    restedSince: before,
    startedAt: before,
    ...mark,
  });
  return compute({
    linked: "ep-one",
    shows: "Active",
    ...fields,
    annotations: {
      endpointID: "ep-one",
      restartedAt: "second",
      ...(mark && { pendingRestart: whole }),
      ...fields.annotations,
    },
    status: { endpointID: "ep-one", restartedAt: "first", ...fields.status },
  });
}

function planned(self: ReturnType<typeof compute>, seen = {}, lookedUp: readonly Operation[] = []) {
  return plan(
    ...input({ compute: self, endpoints: [madeBy(self, { started_at: before, ...seen })], list: { lookedUp } }),
  );
}

const send = { kind: "restart", endpointID: "ep-one", value: "second" };
const done = { kind: "restarted", endpointID: "ep-one", value: "second" };

describe("a restart whose reply was lost", () => {
  test("is not taken for done by operations of which it is not known whether they are older", () => {
    const pair = ["suspend_compute", "start_compute"].map((action) => operation({ action, created_at: after }));
    expect(planned(restarting({}, { newestOperation: undefined }), {}, pair)).toEqual(send);
    expect(planned(restarting({}, { newestOperation: "" }), {}, pair)).toEqual(done);
  });
});

describe("the annotation restartedAt", () => {
  test("with a new value asks for one restart, also of an idle compute", () => {
    expect(planned(restarting())).toEqual(send);
    expect(planned(restarting(), { current_state: "idle" })).toEqual(send);
    expect(planned(restarting({ status: { restartedAt: undefined } }))).toEqual(send);
  });

  test("with the value that was carried out asks for nothing", () => {
    expect(planned(restarting({ status: { restartedAt: "second" } }))).toMatchObject({ kind: "settled" });
  });

  test("is not carried out again where the status that said so is lost, and the service shows nothing of restarts", () => {
    const self = restarting();
    const seen = { endpoints: [madeBy(self)], list: { lookedUp: [] } };
    expect(plan(...input({ compute: self, state: { restarted: "second" }, ...seen }))).toEqual(done);
    expect(plan(...input({ compute: self, state: { restarted: "first" }, ...seen }))).toEqual(send);
  });

  test("means nothing when it is removed", () => {
    expect(planned(compute({ linked: "ep-one", status: { restartedAt: "first" } }))).toMatchObject({ kind: "settled" });
  });

  test("requests nothing until the first reconcile: the value at that time is recorded as done", () => {
    const fresh = restarting({ status: { observedGeneration: -1, restartedAt: undefined } });
    expect(planned(fresh)).toMatchObject({ kind: "settled" });
    const wiped = restarting({ status: { observedGeneration: undefined, restartedAt: undefined } });
    expect(planned(wiped)).toMatchObject({ kind: "settled" });
    const seen = {
      endpoint: madeBy(fresh),
      absent: false,
      answers: true,
      compared: true,
      lossOver: true,
      made: true,
      signed: false,
      operations: [],
      annotations: annotationsOf(fresh),
      fingerprint: "here",
      binding: undefined,
      now,
    };
    const status = nextStatus(shown(fresh, "Active", "The compute is as declared."), seen);
    expect(status).toMatchObject({ observedGeneration: 1, restartedAt: "second" });
  });

  test("waits for what runs, and for the first value to be recorded even while paused", () => {
    expect(planned(restarting({ shows: "Updating" }), { pending_state: "active" })).toMatchObject({ kind: "wait" });
    expect(planned(restarting({ annotations: { paused: "true" } }))).toMatchObject({ reason: "Paused" });
  });
});

describe("a restart that was marked and of which no answer came", () => {
  const pair = (at: string) => [
    operation({ id: "op-2", action: "suspend_compute", created_at: at }),
    operation({ id: "op-3", action: "start_compute", created_at: at }),
  ];
  const marked = restarting({}, {});

  test("counts as carried out where a suspend and a start were created since", () => {
    expect(planned(marked, {}, pair(after))).toEqual(done);
  });

  test("counts as carried out where the compute has started since", () => {
    expect(planned(marked, { started_at: after })).toEqual(done);
    const never = { newestOperation: "", restedSince: "", startedAt: undefined };
    expect(planned(restarting({}, never), { started_at: after })).toEqual(done);
  });

  test.each([
    ["another operation was under way when it was marked, or may have been", { restedSince: undefined }, after],
    ["the start was over before, though the last list did not show it yet", { restedSince: after }, after],
    ["the start was over before, by times that are not equally fine", { restedSince: "2026-01-01T10:00:05.9Z" }, after],
    ["the service's times cannot be read", { restedSince: "some day" }, after],
  ])("is not taken for another's start, and is sent once more, where %s", (_, mark, started_at) => {
    expect(planned(restarting({}, mark), { started_at })).toEqual(send);
  });

  test.each([
    ["nothing happened since", {}, []],
    ["the pair is as old as what was seen before", {}, pair(before)],
    ["the compute only woke up", {}, pair(after).slice(1)],
    ["the compute was only suspended", {}, pair(after).slice(0, 1)],
    ["the compute was suspended and changed", {}, [...pair(after).slice(0, 1), operation({ created_at: after })]],
    ["the compute was started and changed", {}, [...pair(after).slice(1), operation({ created_at: after })]],
    ["the service shows no start times", { started_at: undefined }, []],
  ])("is sent once more where %s", (_, seen, operations) => {
    expect(planned(marked, seen, operations)).toEqual(send);
  });

  test("is no proof for another value, nor where the mark was copied from another Compute", () => {
    expect(planned(restarting({}, { value: "first" }), { started_at: after })).toEqual(send);
    expect(planned(restarting({}, { uid: uidOf("b") }), { started_at: after })).toEqual(send);
  });

  test("loses its mark once it was carried out, or was taken back", () => {
    const clearPending = { kind: "clearPending", mark: "pendingRestart" };
    expect(planned(restarting({ status: { restartedAt: "second" } }, {}))).toEqual(clearPending);
    const { restartedAt: _, ...annotations } = { ...marked.metadata.annotations };
    const { ["compute-operator.dev/restartedAt"]: __, ...kept } = annotations;
    expect(planned({ ...marked, metadata: { ...marked.metadata, annotations: kept } })).toEqual(clearPending);
  });
});
