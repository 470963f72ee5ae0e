import { describe, expect, test } from "vitest";
import { mayWait, withHeld } from "../../../src/operator/compute/held.ts";
import { type Effect, type Outcome, shown, unchanged } from "../../../src/operator/compute/outcome.ts";
import { ReconcileState } from "../../../src/operator/compute/reconcile-state.ts";
import type { Reason } from "../../../src/operator/compute/words/reasons.ts";
import type { Compute, ComputeStatus } from "../../../src/operator/resources/compute.ts";
import { soonMs } from "../../../src/operator/runtime/waits.ts";
import { compute, endpoint, operation, recordOf } from "../../support/builders.ts";
import { requeueAfter } from "./requeueing.ts";

const showing = (reason: string, more: ComputeStatus = {}, spec: Partial<Compute["spec"]> = {}): Compute => {
  const ready = { type: "Ready", status: "True", reason, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
  return compute({ status: { endpointID: "ep-one", conditions: [ready], ...more }, spec });
};
const waits = (self: Compute, reason: Reason, after: ComputeStatus, isHidden = false) =>
  mayWait(shown(self, reason, ""), { ...self.status, state: reason, ...after }, isHidden);

describe("a status may wait", () => {
  test.each([
    ["that replaces none", compute(), "Creating"],
    ["that replaces progress", showing("Creating"), "Starting"],
    ["that replaces rest", showing("Idle"), "Updating"],
  ] as const)("a status %s with progress may wait", (_, self, reason) => {
    expect(waits(self, reason, {})).toBe(true);
  });

  test("a status that only shows the endpoint again may wait", () => {
    expect(mayWait(unchanged(showing("Active")), { endpointID: "ep-one", currentState: "init" }, false)).toBe(true);
  });

  test.each([
    ["that says anything but progress", showing("Creating"), "Active", {}],
    ["that reports trouble", showing("Active"), "CreateUnknown", {}],
    ["that ends trouble", showing("Conflict"), "Creating", {}],
    ["that ends a pause", showing("Drifted"), "Updating", {}],
    ["of another endpoint", showing("Active"), "Creating", { endpointID: "ep-two" }],
    ["of a restart", showing("Active"), "Restarting", { restartedAt: "now" }],
    ["of a reconcile that a person requested", showing("Active"), "Updating", { lastHandledReconcileAt: "now" }],
    ["of a loss that a person confirmed", showing("Active"), "Creating", { lastHandledConfirmLoss: "now" }],
    ["of a compute that this operator disabled", showing("Active"), "Updating", { disabledByUs: true }],
    ["of a doubted loss", showing("Active"), "Creating", { lossDoubted: true }],
    ["with drift", showing("Active"), "Updating", { drift: [{ field: "disabled", ours: "false", theirs: "true" }] }],
    ["of the use of a ClusterServiceConnection", showing("Active"), "Updating", { clusterConnection: "default" }],
  ] satisfies [string, Compute, Reason, ComputeStatus][])("a status %s may not wait", (_, self, reason, after) => {
    expect(waits(self, reason, after)).toBe(false);
  });

  test.each([
    [{ driftPolicy: "Correct" }, false, true],
    [{ driftPolicy: "Correct" }, true, false],
    [{ driftPolicy: "Report" }, false, false],
  ] as const)(
    "a status may wait with a new generation, under %j, hidden fields: %s: %s",
    (spec, isHidden, expected) => {
      expect(
        waits(showing("Active", { appliedGeneration: 1 }, spec), "Updating", { appliedGeneration: 2 }, isHidden),
      ).toBe(expected);
    },
  );
});

describe("what is held back", () => {
  const self = compute();
  const accepted: Effect = { kind: "accepted", entry: "", generation: 1, endpoint: endpoint(), operations: [] };
  const made = shown(self, "Creating", "made", { effect: accepted });
  const hold = (state: ReconcileState, outcome: Outcome, now: number, isNew = false) =>
    state.hold(outcome, { isNew, endpoint: endpoint() }, now);

  test("a held status is due two seconds after it was held, or after the last write that was accepted", () => {
    const state = new ReconcileState(0, "this-term");
    expect(hold(state, shown(self, "Creating", "waits"), 100)).toBe(true);
    expect(hold(state, made, 1100, true)).toBe(true);
    expect(requeueAfter(state, unchanged(self), 1100)).toBe(soonMs);
    expect(hold(state, shown(self, "Creating", "made"), 1100 + soonMs - 1)).toBe(true);
    expect(hold(state, shown(self, "Creating", "made"), 1100 + soonMs)).toBe(false);
    state.wrote();
    expect(state.known.held).toBeUndefined();
    expect(requeueAfter(state, unchanged(self), 5000)).toBeUndefined();
  });

  test("a held status of a create waits a minute where the one before shows the record", () => {
    const recorded = showing("Creating", { pendingWrite: recordOf() });
    const state = new ReconcileState(0, "this-term");
    expect(hold(state, shown(recorded, "Creating", "made", { effect: accepted }), 0, true)).toBe(true);
    expect(hold(state, shown(recorded, "Creating", "made"), 59_999)).toBe(true);
    expect(hold(state, shown(recorded, "Creating", "made"), 60_000)).toBe(false);
    const waiting = new ReconcileState(0, "this-term");
    hold(waiting, shown(recorded, "Creating", "waits"), 0);
    expect(hold(waiting, shown(recorded, "Creating", "waits"), soonMs)).toBe(false);
  });

  test("a held status is written where the next reconcile knows nothing new, with what was accepted", () => {
    const state = new ReconcileState(0, "this-term");
    hold(state, made, 0, true);
    const { held } = state.known;
    expect(withHeld(unchanged(self), held, false)).toMatchObject({ condition: made.condition, effect: accepted });
    expect(withHeld(unchanged(self), held, true).effect).toEqual({ ...accepted, endpoint: undefined });
    const later = shown(self, "Starting", "later");
    expect(withHeld(later, held, false)).toMatchObject({ condition: later.condition, effect: accepted });
    const other = shown(self, "Conflict", "", { effect: { kind: "ownedByOther" } });
    expect(withHeld(other, held, false)).toEqual(other);
  });

  test("a held status leaves its operations to the end, where no list says which there were", () => {
    const state = new ReconcileState(0, "this-term");
    const effect: Effect = { ...accepted, operations: [operation()] };
    hold(state, { ...made, effect }, 0, true);
    const end = shown(self, "Active", "", { effect: { kind: "settled", drift: [] } });
    expect(withHeld(end, state.known.held, true).effect).toEqual({
      kind: "settled",
      drift: [],
      operations: [operation()],
    });
    const lost = shown(self, "EndpointLost", "", { effect: { kind: "gone", endpointID: "ep-one" } });
    expect(withHeld(lost, state.known.held, true)).toEqual(lost);
  });

  test("a held status has the endpoint as last seen, though the answer showed an earlier one, or none", () => {
    const seen = endpoint({ current_state: "idle" });
    for (const shownThen of [undefined, endpoint({ current_state: "init" })]) {
      const state = new ReconcileState(0, "this-term");
      const effect = { ...accepted, endpoint: shownThen };
      state.hold(shown(self, "Creating", "made", { effect }), { isNew: true, endpoint: seen }, 0);
      expect(withHeld(unchanged(self), state.known.held, false).effect).toMatchObject({ endpoint: seen });
    }
  });

  test("says nothing of another generation", () => {
    const state = new ReconcileState(0, "this-term");
    hold(state, made, 0, true);
    const edited = compute({ generation: 2 });
    expect(withHeld(unchanged(edited), state.known.held, false).condition).toEqual({ kind: "unchanged" });
  });
});
