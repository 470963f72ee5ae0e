import { describe, expect, test } from "vitest";
import type { RememberedWrite } from "../../../../src/operator/compute/memory.ts";
import { annotationsOf } from "../../../../src/operator/compute/observe/annotations.ts";
import { shown } from "../../../../src/operator/compute/outcome.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { nextStatus } from "../../../../src/operator/compute/status/status.ts";
import { type ComputeFields, compute, endpoint, input, madeBy, now, openSince } from "../../../support/builders.ts";

const before = "2026-01-01T10:00:00Z";
const after = "2026-01-01T10:00:05Z";

function restarting(fields: ComputeFields = {}): ReturnType<typeof compute> {
  return compute({
    linked: "ep-one",
    shows: "Active",
    ...fields,
    annotations: { endpointID: "ep-one", restartedAt: "second", ...fields.annotations },
    status: { endpointID: "ep-one", restartedAt: "first", ...fields.status },
  });
}

function planned(self: ReturnType<typeof compute>, seen = {}, write?: RememberedWrite) {
  const endpoints = [madeBy(self, { started_at: before, ...seen })];
  return plan(...input({ compute: self, endpoints, state: { write } }));
}

const send = { kind: "restart", endpointID: "ep-one", value: "second", startedAt: before };
const done = { kind: "restarted", endpointID: "ep-one", value: "second" };

describe("the annotation restartedAt", () => {
  test("the value of restartedAt that was carried out asks for nothing", () => {
    expect(planned(restarting({ status: { restartedAt: "second" } }))).toMatchObject({ kind: "settled" });
  });

  test("a restart is not carried out again where the status that said so is lost, and the service shows nothing of restarts", () => {
    const self = restarting();
    const endpoints = [madeBy(self, { started_at: before })];
    const handled = (restartedAt: string) => ({ compute: self, endpoints, state: { handled: { restartedAt } } });
    expect(plan(...input(handled("second")))).toEqual(done);
    expect(plan(...input(handled("first")))).toEqual(send);
  });

  test("a restart of what only an annotation links is not sent, and says how to claim the endpoint", () => {
    const unproved = plan(...input({ compute: restarting(), endpoints: [endpoint({ started_at: before })] }));
    expect(unproved).toMatchObject({ kind: "blocked", reason: "AdoptionRefused" });
    expect(unproved).toMatchObject({ message: expect.stringContaining("spec.adopt.endpointID") });
    const adopting = restarting({ spec: { adopt: { endpointID: "ep-one" } } });
    expect(plan(...input({ compute: adopting, endpoints: [endpoint({ started_at: before })] }))).toEqual(send);
  });

  test("requests nothing until the first reconcile: the value at that time is recorded as done", () => {
    const fresh = restarting({ status: { observedGeneration: -1, restartedAt: undefined } });
    expect(planned(fresh)).toMatchObject({ kind: "settled" });
    const wiped = restarting({ status: { observedGeneration: undefined, restartedAt: undefined } });
    expect(planned(wiped)).toMatchObject({ kind: "settled" });
    const seen: Parameters<typeof nextStatus>[1] = {
      endpoint: madeBy(fresh),
      absent: false,
      answers: true,
      compared: true,
      lossOver: true,
      proof: "signature",
      sent: undefined,
      record: undefined,
      clearsDisabling: true,
      operations: [],
      annotations: annotationsOf(fresh, 0),
      fingerprint: "here",
      secret: undefined,
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

describe("a restart that is recorded, and of which no answer came", () => {
  const recorded = (openedAt: number, fields: object = {}) =>
    openSince(openedAt, { operation: "restart", endpointID: "ep-one", value: "second", startedAt: before, ...fields });
  const recently = recorded(now - 5000);
  const longAgo = recorded(now - 100 - 70_000);
  const waits = { kind: "wait", reason: "Restarting" };
  const { startedAt: _, ...without } = recorded(now - 5000).record;

  test.each<[string, object, RememberedWrite, object]>([
    ["is waited for while it may take effect", {}, recently, { ...waits, requeueAfterMs: 65_000 }],
    ["is sent once more when it can take effect no more", {}, longAgo, send],
    ["counts as carried out where the endpoint started since", { started_at: after }, recently, done],
    ["counts as carried out however late that is seen", { started_at: after }, longAgo, done],
    [
      "counts as carried out where the endpoint had never started before",
      { started_at: after },
      { ...recently, record: without },
      done,
    ],
    ["proves nothing where the service shows no start times", { started_at: undefined }, recently, waits],
    [
      "is sent once more where the service shows no start times",
      { started_at: undefined },
      longAgo,
      { ...send, startedAt: undefined },
    ],
    ["is waited for where another value was asked for since", {}, recorded(now - 5000, { value: "zero" }), waits],
    [
      "does not carry out another value: that is a restart of its own",
      { started_at: after },
      recorded(now - 100 - 70_000, { value: "zero" }),
      { ...send, startedAt: after },
    ],
    [
      "of an endpoint that is lost blocks no restart of another",
      {},
      recorded(now - 5000, { endpointID: "ep-before" }),
      send,
    ],
    ["that was refused is sent again", {}, { ...recently, phase: "unsent" }, send],
  ])("%s", (_case, seen, write, action) => {
    expect(planned(restarting(), seen, write)).toMatchObject(action);
  });

  test("asks for nothing once the annotation is removed", () => {
    const self = compute({ linked: "ep-one", shows: "Active", status: { endpointID: "ep-one", restartedAt: "first" } });
    expect(planned(self, {}, recently)).toMatchObject({ kind: "settled" });
  });

  test("holds back no change of the endpoint, nor its deletion", () => {
    const edited = restarting({ spec: { disabled: true } });
    expect(planned(edited, { disabled: false }, recently)).toMatchObject({ kind: "patch" });
    expect(planned(restarting({ deleting: true }), {}, recently)).toMatchObject({ kind: "delete" });
  });
});
