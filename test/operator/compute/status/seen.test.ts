import { describe, expect, test } from "vitest";
import { type Effect, shown, unchanged } from "../../../../src/operator/compute/outcome.ts";
import type { Reason } from "../../../../src/operator/compute/status/reasons.ts";
import { nextStatus } from "../../../../src/operator/compute/status/status.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import { type ComputeFields, compute, createMark, operation, takeoverMark } from "../../../support/builders.ts";
import { active, after, full, seen, self, statusAfter } from "./updating.ts";

const blind = { endpoint: undefined, absent: false, fingerprint: undefined };
const gone = { endpoint: undefined };

describe("what was last seen of an endpoint", () => {
  const pending = full({ current_state: "idle", pending_state: "active" });

  test("includes the state that is under way, until lists lack the endpoint", () => {
    const settled = after(active(), { endpoint: pending });
    expect(settled.status).toMatchObject({ currentState: "idle", pendingState: "active" });
    const lacking = statusAfter(shown(settled, "EndpointLost", ""), gone);
    expect([lacking.currentState, lacking.pendingState]).toEqual([undefined, undefined]);
    expect(lacking).toMatchObject({ endpointID: "ep-one", host: settled.status.host });
    const hidden = statusAfter(shown(settled, "Unauthorized", ""), blind);
    expect(hidden).toMatchObject({ currentState: "idle", pendingState: "active" });
  });

  test("is kept by a reconcile that sees nothing and says nothing", () => {
    const wiped = compute({ linked: "ep-one" });
    expect(nextStatus(unchanged(wiped), seen(blind, wiped))).toBeUndefined();
  });

  test("is corrected by a reconcile that says nothing, and sees that lists lack the endpoint", () => {
    const settled = after(active(), { endpoint: pending });
    expect(statusAfter(unchanged(settled), gone)).not.toHaveProperty("currentState");
  });

  test("lends its size to a Compute that is linked and was never seen", () => {
    const spec = { computeUnits: { min: 1, max: 4 } };
    const linked = compute({ linked: "ep-one", spec });
    expect(statusAfter(shown(linked, "Unauthorized", ""), blind).size).toBe("1–4 CU");
  });

  test("is dropped wholly where the endpoint turns out to be another's", () => {
    const status = { disabledByUs: true, unansweredDisables: 2 };
    const disabled = compute({ linked: "ep-one", status: { endpointID: "ep-one", ...status } });
    const whole = after(active(disabled), { endpoint: full({ disabled: true }), operations: [operation()] });
    for (const field of ["poolerHost", "disabledByUs", "unansweredDisables", "operations", "lastActive"]) {
      expect(whole.status).toHaveProperty(field);
    }
    const left = statusAfter(shown(whole, "Conflict", "", { effect: { kind: "ownedByOther" } }), gone);
    const kept = ["appliedGeneration", "conditions", "observedGeneration", "observedThrough", "state"];
    expect(Object.keys(left).toSorted()).toEqual(kept);
    expect(left.state).toBe("NotCreated");
  });
});

describe("the state", () => {
  const lost = (fields: ComputeFields = {}) => compute({ linked: "ep-one", ...fields, status: { state: "Lost" } });
  const marked = { annotations: { endpointID: "ep-one", pendingCreate: createMark() } };
  const stateOf = (of: Compute, reason: Reason, effect: Effect = { kind: "none" }, fields: object = gone) =>
    statusAfter(shown(of, reason, "", { effect }), fields).state;

  test("stays Lost while a create in the place of what was lost is pending, also while the service cannot be asked", () => {
    expect(stateOf(lost(marked), "CreateUnknown")).toBe("Lost");
    expect(stateOf(lost(marked), "Unauthorized", { kind: "none" }, blind)).toBe("Lost");
  });

  test("stays Creating after kubectl replace dropped the mark of a create, which only it shows from then on", () => {
    const replaced = (guarded: boolean) => compute({ guarded, status: { state: "Creating" } });
    expect(stateOf(replaced(false), "ConnectionNotReady", { kind: "none" }, blind)).toBe("Creating");
    expect(stateOf(replaced(true), "ConnectionNotReady", { kind: "none" }, blind)).toBe("NotCreated");
  });

  test("is Updating while our signature may arrive, also after kubectl replace dropped its mark", () => {
    const sent = compute({ annotations: { pendingTakeover: takeoverMark() } });
    expect(stateOf(sent, "ServiceUnavailable", { kind: "none" }, blind)).toBe("Updating");
    expect(stateOf(sent, "Conflict", { kind: "ownedByOther" })).toBe("NotCreated");
    const replaced = compute({ guarded: false, status: { state: "Updating" } });
    expect(stateOf(replaced, "ConnectionNotReady", { kind: "none" }, blind)).toBe("Updating");
  });

  test("is not Lost where the endpoint is another's", () => {
    expect(stateOf(lost(), "Conflict", { kind: "ownedByOther" })).toBe("NotCreated");
  });

  test("is not Lost where no endpoint was ever linked", () => {
    expect(stateOf(compute({ annotations: { pendingTakeover: takeoverMark() } }), "MassLoss")).toBe("NotCreated");
  });
});

describe("a loss in doubt", () => {
  const doubted = compute({ linked: "ep-one", status: { endpointID: "ep-one", lossDoubted: true } });
  const isDoubted = (reason: Reason, fields: object, of = doubted) =>
    statusAfter(shown(of, reason, ""), fields).lossDoubted === true;

  test("stays so while nothing is seen, and while paused", () => {
    expect(isDoubted("ServiceUnavailable", blind)).toBe(true);
    expect(isDoubted("Paused", blind)).toBe(true);
    expect(isDoubted("Paused", gone)).toBe(true);
  });

  test("is over once the endpoint is seen, or lists lack it and something else is said", () => {
    expect(isDoubted("Active", {})).toBe(false);
    expect(isDoubted("Paused", {})).toBe(false);
    expect(isDoubted("Creating", gone)).toBe(false);
  });

  test("does not begin with another reason", () => {
    expect(isDoubted("ServiceUnavailable", blind, self)).toBe(false);
    expect(isDoubted("Paused", gone, self)).toBe(false);
  });
});

test("a Compute that was never reconciled has the restart that its annotation asks for recorded as done", () => {
  const annotations = { endpointID: "ep-one", restartedAt: "now" };
  const fresh = compute({ linked: "ep-one", annotations, status: { observedGeneration: undefined } });
  expect(statusAfter(active(fresh)).restartedAt).toBe("now");
  expect(statusAfter(shown(fresh, "Paused", ""))).not.toHaveProperty("restartedAt");
  expect(statusAfter(active(compute({ linked: "ep-one", annotations })))).not.toHaveProperty("restartedAt");
});

test.each([
  [{ kind: "ClusterServiceConnection", name: "shared" }, "shared"],
  [{ name: "default" }, undefined],
])("the ClusterServiceConnection of %j is shown as %s", (connectionRef, name) => {
  expect(statusAfter(active(compute({ linked: "ep-one", spec: { connectionRef } }))).clusterConnection).toBe(name);
});

describe("an operation", () => {
  const times = { created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:05Z" };
  const one = operation({ status: "finished", failures_count: 2, ...times });
  const other = operation({ id: "op-2", status: "finished", ...times });
  const settled = after(active(), { operations: [one, other] });

  test("shows when it was changed", () => {
    expect(settled.status.operations?.[0]).toEqual({
      id: "op-1",
      action: "apply_config",
      status: "finished",
      failuresCount: 2,
      createdAt: times.created_at,
      updatedAt: times.updated_at,
    });
  });

  test("keeps what the service no longer shows of it", () => {
    const bare = operation({ status: "failed", created_at: undefined });
    expect(statusAfter(active(settled), { operations: [bare, other] }).operations).toMatchObject([
      { status: "failed", failuresCount: 2, createdAt: times.created_at, updatedAt: times.updated_at },
      {},
    ]);
  });

  test("is not worth a write where only that time changed, and is written with it where more did", () => {
    const later = { ...one, updated_at: "2026-01-01T00:10:00Z" };
    expect(nextStatus(active(settled), seen({ operations: [later, other] }))).toBeUndefined();
    const failed = { ...later, failures_count: 3 };
    expect(statusAfter(active(settled), { operations: [failed, other] }).operations?.[0]).toMatchObject({
      failuresCount: 3,
      updatedAt: "2026-01-01T00:10:00Z",
    });
  });
});

describe("what is noted of disabling", () => {
  const noted = (status: Compute["status"], disabled: boolean, spec: { disabled?: boolean } = { disabled: true }) => {
    const of = compute({ linked: "ep-one", spec, status: { endpointID: "ep-one", ...status } });
    const { disabledByUs, unansweredDisables } = statusAfter(active(of), { endpoint: full({ disabled }) });
    return [disabledByUs, unansweredDisables];
  };

  test.each([
    [1, true],
    [1, false],
    [2, true],
  ])("stays with %i writes without an answer, though the endpoint is seen disabled: %s", (unanswered, disabled) => {
    expect(noted({ disabledByUs: true, unansweredDisables: unanswered }, disabled)).toEqual([true, unanswered]);
  });

  test("is restored for an endpoint that no status shows yet, and for no other", () => {
    expect(noted({ endpointID: undefined }, true)).toEqual([true, undefined]);
    // After a wiped status somebody else may have disabled it; what takes the place of another was made so.
    expect(noted({ endpointID: undefined }, true, {})).toEqual([undefined, undefined]);
    expect(noted({ endpointID: "ep-before" }, true, {})).toEqual([true, undefined]);
    expect(noted({}, true)).toEqual([undefined, undefined]);
  });

  test("stays while the spec asks for it: a list that shows the endpoint enabled may lag, or its drift is reported", () => {
    expect(noted({ disabledByUs: true }, false)).toEqual([true, undefined]);
    expect(noted({ disabledByUs: true }, false, {})).toEqual([undefined, undefined]);
    expect(noted({ disabledByUs: true }, true, {})).toEqual([true, undefined]);
  });
});
