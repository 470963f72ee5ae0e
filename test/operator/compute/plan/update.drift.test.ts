import { describe, expect, test } from "vitest";
import type { ReadonlyState } from "../../../../src/operator/compute/memory.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { ReconcileState } from "../../../../src/operator/compute/reconcile-state.ts";
import { type ComputeFields, compute, input, madeBy, now, observedBy, operation } from "../../../support/builders.ts";

const minute = 60_000;
const want = { computeUnits: { min: 1, max: 2 }, disabled: false };
const drifted = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 8, disabled: false };

function planned(fields: ComputeFields, seen = {}, state: Partial<ReadonlyState> = {}, at = now) {
  const self = compute({ linked: "ep-one", shows: "Active", ...fields, spec: { ...want, ...fields.spec } });
  return plan(...input({ compute: self, endpoints: [madeBy(self, { ...drifted, ...seen })], state, now: at }));
}

describe("drift", () => {
  test("drift is corrected with driftPolicy Correct, and reported with the values before and after", () => {
    expect(planned({})).toMatchObject({
      kind: "patch",
      attributes: { autoscaling_limit_max_cu: 2 },
      corrects: [{ field: "computeUnits.max", ours: "2", theirs: "8" }],
    });
  });

  test("an edit of the manifest is no drift: then it is our change", () => {
    expect(planned({ generation: 2, status: { appliedGeneration: 1 } })).toMatchObject({ kind: "patch", corrects: [] });
  });

  const updateStatus = { driftPolicy: "Report" };
  const drift = [{ field: "computeUnits.max", ours: "2", theirs: "8" }];

  test("drift is reported and left with driftPolicy Report", () => {
    expect(planned({ spec: updateStatus })).toEqual({
      kind: "settled",
      reason: "Drifted",
      message: expect.stringContaining("computeUnits.max: theirs 8, ours 2"),
      drift,
    });
  });

  test("drift is left with Report also by an edit of something else, which alone is sent", () => {
    const edited = { generation: 2, status: { appliedGeneration: 1, drift } };
    expect(planned({ ...edited, spec: { ...updateStatus, disabled: true } })).toMatchObject({
      kind: "patch",
      attributes: { disabled: true },
      fields: ["disabled"],
    });
  });

  test("drift with Report ends when the user edits the very field: that is sent", () => {
    const edited = { generation: 2, status: { appliedGeneration: 1, drift } };
    expect(planned({ ...edited, spec: { ...updateStatus, computeUnits: { min: 1, max: 4 } } })).toMatchObject({
      kind: "patch",
      attributes: { autoscaling_limit_max_cu: 4 },
    });
  });

  test("drift in one end of the size ends with Report when the user edits the other, since the service checks them together", () => {
    const both = [{ field: "computeUnits.min", ours: "1", theirs: "4" }, ...drift];
    const edited = { generation: 2, status: { appliedGeneration: 1, drift: both } };
    const seen = { autoscaling_limit_min_cu: 4 };
    expect(planned({ ...edited, spec: { ...updateStatus, computeUnits: { min: 1, max: 1 } } }, seen)).toMatchObject({
      kind: "patch",
      attributes: { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 },
    });
  });

  test("drift with Report is not confused with a person's edit, for the generation last applied is remembered", () => {
    expect(planned({ generation: 2, status: { appliedGeneration: 1 }, spec: updateStatus })).toMatchObject({
      kind: "patch",
    });
    expect(planned({ generation: 2, status: { appliedGeneration: 2 }, spec: updateStatus })).toMatchObject({
      reason: "Drifted",
    });
  });
});

describe("a field that the service does not show", () => {
  const spec = { passwordlessAccess: false, computeUnits: undefined };

  test("a field that is not shown is sent once per generation", () => {
    expect(planned({ generation: 2, status: { appliedGeneration: 1 }, spec })).toMatchObject({
      kind: "patch",
      attributes: { passwordless_access: false },
    });
    expect(planned({ generation: 2, spec })).toMatchObject({ kind: "settled", reason: "Active" });
  });

  test("a field that is not shown is sent to an endpoint that a person linked after a refused create", () => {
    const refused = { spec, status: { appliedGeneration: 1, endpointID: undefined, branchID: undefined } };
    expect(planned(refused, { name: "anybody's" })).toMatchObject({
      kind: "patch",
      attributes: { passwordless_access: false },
    });
    expect(planned(refused)).toMatchObject({ kind: "settled" });
    const accepted = { endpointID: "ep-one", generation: 1, drift: [] };
    expect(planned(refused, { name: "anybody's" }, { accepted })).toMatchObject({ kind: "settled" });
  });

  test("goes along with a change, but not with a correction", () => {
    expect(
      planned({ generation: 2, status: { appliedGeneration: 1 }, spec: { passwordlessAccess: false } }),
    ).toMatchObject({
      attributes: { passwordless_access: false, autoscaling_limit_max_cu: 2 },
    });
    expect(planned({ spec: { passwordlessAccess: false } })).toMatchObject({
      attributes: { autoscaling_limit_max_cu: 2 },
      fields: ["computeUnits.max"],
    });
  });
});

describe("a change that was accepted and does not take", () => {
  const patched = (fields: Partial<NonNullable<ReadonlyState["patched"]>> = {}) => ({
    patched: {
      generation: 1,
      branchID: "br-main",
      fields: ["computeUnits.max"],
      listsWithout: [1, 10_001],
      at: now - 1000,
      tries: 0,
      ...fields,
    },
  });

  test("an accepted change is waited for until two lists ten seconds apart lack it", () => {
    expect(planned({}, {}, patched({ listsWithout: [1] }))).toMatchObject({ kind: "wait", reason: "Updating" });
    expect(planned({}, {}, patched({ listsWithout: [1, 10_000] }))).toMatchObject({ kind: "wait", reason: "Updating" });
  });

  test("an accepted change is not called drift by that list, with driftPolicy Report", () => {
    const reporting = { spec: { ...want, driftPolicy: "Report" } };
    expect(planned(reporting, {}, patched({ listsWithout: [1] }))).toMatchObject({ kind: "wait", reason: "Updating" });
    expect(planned(reporting, {}, patched())).toMatchObject({ kind: "settled", reason: "Drifted" });
  });

  test("an accepted change is Rejected when two lists ten seconds apart do not show it, and says what is kept instead", () => {
    expect(planned({}, {}, patched())).toMatchObject({
      kind: "blocked",
      reason: "Rejected",
      message: expect.stringContaining("computeUnits.max (ours 2, theirs 8)"),
    });
  });

  test.each([
    [0, 1],
    [1, 2],
    [3, 8],
    [6, 60],
    [100, 60],
  ])("an accepted change is, after %i times in vain, tried again in %i minutes, and no sooner", (tries, minutes) => {
    const state = patched({ tries, at: now - minutes * minute });
    expect(planned({}, {}, state)).toMatchObject({ kind: "patch" });
    expect(planned({}, {}, state, now - 1)).toMatchObject({ reason: "Rejected" });
  });

  test("an accepted change is tried at once where the spec was edited since", () => {
    expect(planned({ generation: 2 }, {}, patched())).toMatchObject({ kind: "patch" });
  });

  test("holds no other field back", () => {
    expect(planned({}, { autoscaling_limit_max_cu: 2, disabled: true }, patched())).toMatchObject({
      kind: "patch",
      attributes: { disabled: false },
    });
  });
});

describe("whether a change has taken", () => {
  const self = compute({ linked: "ep-one", spec: want });
  const sent = { generation: 1, branchID: "br-main", fields: ["computeUnits.max"], listsWithout: [], at: 0, tries: 0 };

  function noted(
    patched: NonNullable<ReadonlyState["patched"]>,
    seen: object,
    list: Parameters<typeof observedBy>[2] = {},
  ) {
    const state = new ReconcileState(0, "this-term", { patched });
    state.listed(observedBy(self, [madeBy(self, { ...drifted, ...seen })], list));
    return state.known.patched;
  }

  test("an accepted change is forgotten as soon as a list shows it", () => {
    expect(noted(sent, { autoscaling_limit_max_cu: 2 })).toBeUndefined();
  });

  test("an accepted change is held against the service only by lists, each of which counts once", () => {
    const once = noted(sent, {}, { startedAt: 5 });
    expect(once?.listsWithout).toEqual([5]);
    expect(noted({ ...sent, listsWithout: [5] }, {}, { startedAt: 5 })?.listsWithout).toEqual([5]);
    expect(noted({ ...sent, listsWithout: [5] }, {}, { startedAt: 6 })?.listsWithout).toEqual([5, 6]);
    expect(noted({ ...sent, listsWithout: [5, 6] }, {}, { startedAt: 7 })?.listsWithout).toEqual([5, 7]);
  });

  test("an accepted change is not held against the service by a list from before its operations ended, nor by its own answer", () => {
    expect(noted(sent, {}, { startedAt: 5, operationsEndedAt: 5 })?.listsWithout).toEqual([]);
    expect(noted(sent, {}, { startedAt: 6, operationsEndedAt: 5 })?.listsWithout).toEqual([6]);
    expect(noted(sent, {}, { startedAt: 6, laidOver: true })?.listsWithout).toEqual([]);
    expect(noted(sent, { autoscaling_limit_max_cu: 2 }, { startedAt: 6, laidOver: true })).toBeDefined();
  });

  test.each([
    ["its state is pending", { pending_state: "active" }, {}],
    ["an operation runs", {}, { operations: [operation({ status: "running" })] }],
    ["an operation is yet to run", {}, { operations: [operation({ status: "scheduling" })] }],
  ])("an accepted change is not held against the service while %s", (_, seen, list) => {
    expect(noted(sent, seen, list)?.listsWithout).toEqual([]);
  });
});

describe("another tool that sets a field back", () => {
  const corrected = (agoMs: number, generation = 1) => ({ generation, at: now - agoMs });

  test("a field that another tool sets back is corrected four times in ten minutes, then left and reported, and tried again later", () => {
    const three = [1, 2, 3].map((n) => corrected(n * minute));
    expect(planned({}, {}, { corrections: three })).toMatchObject({ kind: "patch" });
    const four = [...three, corrected(4 * minute)];
    expect(planned({}, {}, { corrections: four })).toMatchObject({
      kind: "blocked",
      reason: "Rejected",
      message: expect.stringContaining("Something outside the operator keeps changing computeUnits.max"),
    });
    expect(planned({}, {}, { corrections: [...three, corrected(10 * minute)] })).toMatchObject({ kind: "patch" });
  });

  test("does not hold back a person's edit", () => {
    const corrections = [1, 2, 3, 4].map((n) => corrected(n * minute));
    const edited = { generation: 2, status: { appliedGeneration: 1 } };
    expect(planned(edited, {}, { corrections })).toMatchObject({ kind: "patch" });
  });

  test("a field that was set back before an edit is corrected again after it: corrections count by generation", () => {
    const corrections = [1, 2, 3, 4].map((n) => corrected(n * minute));
    const corrects = [{ field: "computeUnits.max", ours: "2", theirs: "8" }];
    expect(planned({ generation: 2 }, {}, { corrections })).toMatchObject({ kind: "patch", corrects });
  });
});
