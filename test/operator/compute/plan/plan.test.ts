import { describe, expect, test } from "vitest";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import {
  compute,
  endpoint,
  input,
  madeBy,
  now,
  openSince,
  operation,
  proofFor,
  recordOf,
  uidOf,
} from "../../../support/builders.ts";

const ours = compute({ linked: "ep-one" });
const sized = compute({ linked: "ep-one", spec: { computeUnits: { min: 1, max: 2 } } });
const small = { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 2 };

describe("the plan of a Compute that is to be", () => {
  test("says why nothing can be seen", () => {
    const observation = { kind: "unavailable", reason: "Unauthorized", message: "why", projectGone: true } as const;
    expect(plan(...input({ observation }))).toEqual({ kind: "wait", reason: "Unauthorized", message: "why" });
  });

  test("the plan of a paused Compute is to send nothing, whatever differs", () => {
    const paused = compute({ linked: "ep-one", annotations: { paused: "true" }, spec: { disabled: true } });
    const seen = madeBy(paused, { disabled: false });
    expect(plan(...input({ compute: paused, endpoints: [seen] }))).toMatchObject({ kind: "wait", reason: "Paused" });
    // Until a list is there the status stays as it is: the endpoint is not unknown.
    expect(plan(...input({ compute: paused, observation: { kind: "pending" } }))).toEqual({ kind: "noop" });
  });

  test("does not show another's endpoint as its own while paused", () => {
    const annotations = { endpointID: "ep-one", paused: "true" };
    const waits = { kind: "wait", reason: "Paused" };
    const signed = compute({
      linked: "ep-one",
      annotations,
      status: { endpointID: "ep-one", proof: proofFor("ep-one", "signature") },
    });
    const foreign = endpoint({ name: `k8s-${uidOf("f")}` });
    expect(plan(...input({ compute: signed, endpoints: [foreign] }))).toMatchObject({ ...waits, ownedByOther: true });
    const replica = compute({ linked: "ep-one", annotations, spec: { type: "read_only" } });
    const primary = endpoint({ name: "by hand" });
    expect(plan(...input({ compute: replica, endpoints: [primary] }))).toMatchObject({ ...waits, ownedByOther: true });
    const self = compute({ linked: "ep-one", annotations });
    expect(plan(...input({ compute: self, endpoints: [madeBy(self)] }))).not.toHaveProperty("ownedByOther");
  });

  test("creates what is not there, with all that was set, and the signature", () => {
    const wanted = compute({
      spec: { type: "read_only", computeUnits: { min: 1, max: 2 }, scaleToZero: { enabled: false } },
    });
    const stood = [
      endpoint({ id: "ep-2", type: "read_only" }),
      endpoint({ id: "ep-1", type: "read_only" }),
      endpoint(),
    ];
    expect(plan(...input({ compute: wanted, endpoints: stood }))).toEqual({
      kind: "create",
      attributes: {
        branch_id: "br-main",
        type: "read_only",
        autoscaling_limit_min_cu: 1,
        autoscaling_limit_max_cu: 2,
        suspend_timeout_seconds: -1,
        name: `k8s-${uidOf("a")}`,
      },
      newest: "2026-01-01T00:00:00Z",
      lost: false,
    });
  });

  test("creates nothing new through a connection that is being deleted", () => {
    expect(plan(...input({ list: { terminating: true } }))).toMatchObject({
      kind: "wait",
      reason: "ConnectionNotReady",
    });
  });

  test("patches only what differs", () => {
    expect(plan(...input({ compute: sized, endpoints: [madeBy(sized, small)] }))).toMatchObject({
      kind: "patch",
      endpointID: "ep-one",
      attributes: { autoscaling_limit_min_cu: 1 },
      fields: ["computeUnits.min"],
      progress: "Updating",
    });
  });

  test("moves with a patch, and in the same one sends what else differs", () => {
    const moved = compute({ linked: "ep-one", spec: { branchID: "br-next", disabled: true } });
    const seen = madeBy(moved, { branch_id: "br-main", disabled: false });
    expect(plan(...input({ compute: moved, endpoints: [seen] }))).toMatchObject({
      kind: "patch",
      attributes: { branch_id: "br-next", disabled: true },
      progress: "Moving",
    });
  });

  test.each([
    ["Active", {}],
    ["Active", { current_state: "a state of next year" }],
    ["Idle", { current_state: "idle" }],
    ["Disabled", { current_state: "idle", disabled: true }],
  ])("the plan is settled as %s where the service shows %j", (reason, shown) => {
    expect(plan(...input({ compute: ours, endpoints: [madeBy(ours, shown)] }))).toMatchObject({
      kind: "settled",
      reason,
    });
  });

  test("the plan is not settled while a compute is still coming into being", () => {
    const seen = madeBy(ours, { current_state: "init" });
    expect(plan(...input({ compute: ours, endpoints: [seen] }))).toMatchObject({ kind: "wait", reason: "Creating" });
  });
});

describe("what we began", () => {
  test.each([
    ["Creating", "Creating", { current_state: "init", pending_state: "active" }],
    ["Moving", "Moving", { current_state: "idle", pending_state: "idle" }],
    ["Updating", "Updating", { pending_state: "active" }],
    ["Restarting", "Restarting", { pending_state: "active" }],
    ["Active", "Creating", { current_state: "init", pending_state: "active" }],
  ])("a change of ours is waited for: after %s comes %s", (shows, reason, seen) => {
    const self = compute({ linked: "ep-one", shows });
    expect(plan(...input({ compute: self, endpoints: [madeBy(self, seen)] }))).toMatchObject({ kind: "wait", reason });
  });

  test("a change of ours is waited for as long as its operations run, though the state says nothing", () => {
    const self = compute({ linked: "ep-one", shows: "Updating", spec: { disabled: true } });
    const list = { operations: [operation({ status: "scheduling" })] };
    expect(plan(...input({ compute: self, endpoints: [madeBy(self, { disabled: false })], list }))).toMatchObject({
      kind: "wait",
      reason: "Updating",
    });
  });

  test("does not include what the service does automatically: waking and suspending change nothing", () => {
    for (const seen of [
      { current_state: "idle", pending_state: "active" },
      { current_state: "active", pending_state: "idle" },
    ]) {
      const self = compute({ linked: "ep-one", shows: "Idle" });
      expect(plan(...input({ compute: self, endpoints: [madeBy(self, seen)] }))).toMatchObject({ kind: "settled" });
    }
  });

  test.each(["failed", "error", "cancelled"])(
    "an operation that ended as %s is reported, with action, id and failures",
    (status) => {
      const failed = operation({ status, failures_count: 3, error: "no room" });
      expect(
        plan(...input({ compute: ours, endpoints: [madeBy(ours)], list: { operations: [failed] } })),
      ).toMatchObject({
        kind: "wait",
        reason: "OperationFailed",
        message: expect.stringMatching(/apply_config of endpoint ep-one .*failed attempts: 3\): no room\. .*op-1\.$/),
      });
    },
  );

  test("a failed operation is history once a later one was done", () => {
    const later = operation({ id: "op-2", status: "finished", created_at: "2026-01-01T01:00:00Z" });
    const operations = [later, operation({ status: "failed" })];
    expect(plan(...input({ compute: ours, endpoints: [madeBy(ours)], list: { operations } }))).toMatchObject({
      kind: "settled",
    });
  });

  test("a failed operation is history once the compute has started since", () => {
    const seen = madeBy(ours, { started_at: "2026-01-01T02:00:00Z" });
    const operations = [operation({ status: "failed" })];
    expect(plan(...input({ compute: ours, endpoints: [seen], list: { operations } }))).toMatchObject({
      kind: "settled",
    });
  });
});

describe("the order of the rules", () => {
  const late = { id: "ep-two", created_at: "2026-01-01T00:00:01Z" };

  test("a duplicate is deleted once the link is in order, before anything else is done", () => {
    const self = (guarded: boolean) => compute({ linked: "ep-one", guarded, spec: { disabled: true } });
    const endpoints = [madeBy(ours, late), madeBy(ours, { disabled: false })];
    expect(plan(...input({ compute: self(false), endpoints }))).toMatchObject({ kind: "link", endpointID: "ep-one" });
    const remove = { kind: "delete", endpointID: "ep-two", why: "duplicate" };
    expect(plan(...input({ compute: self(true), endpoints }))).toEqual(remove);
  });

  test("a duplicate stays while no name shows that the kept endpoint is ours", () => {
    const self = compute({ linked: "ep-one", status: { endpointID: "ep-one", proof: proofFor("ep-one") } });
    const endpoints = [madeBy(self, late), endpoint()];
    expect(plan(...input({ compute: self, endpoints })).kind).not.toBe("delete");
  });

  test("a duplicate with the name of another Compute as well as ours is nobody's to guess: only its one owner deletes it", () => {
    const owner = compute({ uid: uidOf("b"), name: "owner", linked: "ep-two" });
    const self = compute({ linked: "ep-one", status: { endpointID: "ep-one", proof: proofFor("ep-two") } });
    const others = [{ ...owner, spec: { ...owner.spec, adopt: { endpointID: "ep-two" } } }];
    const endpoints = [madeBy(self), endpoint(late)];
    expect(plan(...input({ compute: self, endpoints })).kind).toBe("delete");
    expect(plan(...input({ compute: self, endpoints, others })).kind).not.toBe("delete");
  });

  test("a duplicate stays while only an answer shows the linked endpoint, which may be gone by then", () => {
    const self = compute({ linked: "ep-one" });
    const both = { compute: self, endpoints: [madeBy(self, late), madeBy(self)] };
    expect(plan(...input({ ...both, list: { laidOver: true } }))).toEqual({ kind: "noop", requeueAfterMs: 2000 });
    expect(plan(...input(both))).toMatchObject({ kind: "delete", endpointID: "ep-two" });
  });

  test("the link is put in order before anything is sent", () => {
    const self = compute({ linked: "ep-one", guarded: false, spec: { disabled: true } });
    expect(plan(...input({ compute: self, endpoints: [madeBy(self, { disabled: false })] }))).toEqual({
      kind: "link",
      endpointID: "ep-one",
      proof: "signature",
      news: "none",
    });
  });

  test("what runs is waited for before the next change", () => {
    const self = compute({ linked: "ep-one", shows: "Updating", spec: { disabled: true } });
    const seen = madeBy(self, { pending_state: "active", disabled: false });
    expect(plan(...input({ compute: self, endpoints: [seen] }))).toMatchObject({ kind: "wait", reason: "Updating" });
  });

  test("a change goes before a restart that was asked for in the same apply", () => {
    const self = compute({ linked: "ep-one", annotations: { restartedAt: "now" }, spec: { disabled: true } });
    expect(plan(...input({ compute: self, endpoints: [madeBy(self, { disabled: false })] }))).toMatchObject({
      kind: "patch",
    });
    expect(plan(...input({ compute: self, endpoints: [madeBy(self, { disabled: true })] }))).toMatchObject({
      kind: "restart",
    });
  });
});

describe("a write that failed", () => {
  const failedWrite = (write: string, until = now + 5000) => ({
    failedWrite: { write, reason: "Rejected", message: "no", until, failures: 0 } as const,
  });
  const seen = madeBy(sized, small);
  const same = JSON.stringify(["patch", 1, { autoscaling_limit_min_cu: 1 }]);

  test("a write that failed waits its time", () => {
    expect(plan(...input({ compute: sized, endpoints: [seen], state: failedWrite(same) }))).toEqual({
      kind: "wait",
      reason: "Rejected",
      message: "no",
      requeueAfterMs: 5000,
    });
  });

  test("a failed write is tried again when its time is over", () => {
    const state = failedWrite(same, now);
    expect(plan(...input({ compute: sized, endpoints: [seen], state }))).toMatchObject({ kind: "patch" });
  });

  test("a failed write is tried again at once with another key", () => {
    const state = { failedWrite: { ...failedWrite(same).failedWrite, fingerprint: "another key" } };
    expect(plan(...input({ compute: sized, endpoints: [seen], state }))).toMatchObject({ kind: "patch" });
    const sameKey = { failedWrite: { ...failedWrite(same).failedWrite, fingerprint: "here" } };
    expect(plan(...input({ compute: sized, endpoints: [seen], state: sameKey }))).toMatchObject({ kind: "wait" });
  });

  test("holds no other write back", () => {
    const edited = compute({ linked: "ep-one", generation: 2, spec: { computeUnits: { min: 1, max: 2 } } });
    expect(plan(...input({ compute: edited, endpoints: [seen], state: failedWrite(same) }))).toMatchObject({
      kind: "patch",
    });
  });

  test("a failed write is tried again at once when the spec was edited, even where the edit changes nothing of what is sent", () => {
    const create = { branch_id: "br-main", type: "read_write", name: `k8s-${uidOf("a")}` };
    const state = failedWrite(JSON.stringify(["create", 1, create]));
    expect(plan(...input({ state }))).toMatchObject({ kind: "wait", reason: "Rejected" });
    expect(plan(...input({ state, compute: compute({ generation: 2 }) }))).toMatchObject({ kind: "create" });
  });

  test("a failed write is not sent again and again because of a requested refresh that no endpoint answers yet", () => {
    const asked = compute({ annotations: { reconcileRequestedAt: "now" } });
    const create = { branch_id: "br-main", type: "read_write", name: `k8s-${uidOf("a")}` };
    const state = failedWrite(JSON.stringify(["create", 1, create]));
    expect(plan(...input({ compute: asked, state }))).toMatchObject({ kind: "wait", reason: "Rejected" });
  });
});

test.each<[string, string, object]>([
  ["an open create made", "created", { write: openSince(now - 5000) }],
  ["a record made up for one that was wiped made", "none", { write: openSince(now - 5000, { by: "unknown" }) }],
  ["an open takeover signed", "former", { write: openSince(now - 5000, { operation: "takeover" }) }],
])("what %s is linked as news of kind %s", (_, news, state) => {
  const self = compute({ status: { pendingWrite: recordOf() } });
  expect(plan(...input({ compute: self, endpoints: [madeBy(self)], state }))).toEqual({
    kind: "link",
    endpointID: "ep-one",
    proof: "signature",
    news,
  });
});

test.each([
  ["by a Compute that adopts nothing", undefined, {}],
  ["by one that had an endpoint before", "here", { adopt: { former: true } }],
])("an endpoint with our signature and no record is linked %s as no former one's", (_, observedThrough, spec) => {
  const self = compute({ spec, status: { observedThrough } });
  expect(plan(...input({ compute: self, endpoints: [madeBy(self)], fleet: "3f2a91bc" }))).toMatchObject({
    kind: "link",
    proof: "signature",
    news: "none",
  });
});
