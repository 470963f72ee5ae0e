import { describe, expect, test } from "vitest";
import type { ReadonlyState } from "../../../../src/operator/compute/memory.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import { ReconcileState } from "../../../../src/operator/compute/reconcile-state.ts";
import type { NamedBranch } from "../../../../src/operator/project/branch-lister.ts";
import type { Compute } from "../../../../src/operator/resources/compute.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  madeBy,
  now,
  observedBy,
  openSince,
} from "../../../support/builders.ts";

const [old, next] = ["br-main", "br-next"];
const resolvedBranch = { name: "main", id: old };
const byName = { branchID: undefined, branchName: "main" };

/** A Compute that gives a name, resolved to `old`, without an endpoint unless a test says otherwise. */
function unlinked({ spec, status, ...fields }: ComputeFields = {}): Compute {
  return compute({ ...fields, spec: { ...byName, ...spec }, status: { resolvedBranch, ...status } });
}

const named = (fields: ComputeFields = {}) => unlinked({ linked: "ep-one", ...fields });
const listed = (ids: readonly string[], forMs = 60_000): NamedBranch => ({ kind: "listed", ids, forMs });

/** What is planned where the name comes to this, and the endpoint is on `branch`. */
function planned(
  self: Compute,
  comesTo: NamedBranch | undefined,
  { branch = old, state = {} }: { branch?: string; state?: Partial<ReadonlyState> } = {},
) {
  const endpoints = self.status.endpointID === undefined ? [] : [madeBy(self, { branch_id: branch })];
  const observed = { ...observedBy(self, endpoints), ...(comesTo === undefined ? {} : { named: comesTo }) };
  return plan(observed, new ReconcileState(0, "this-term", state).known);
}

describe("before there is an endpoint", () => {
  test("a name that has gone to another branch is resolved again, on the word of one list, also with Report", () => {
    const self = unlinked({ spec: { driftPolicy: "Report" } });
    expect(planned(self, listed([next], 0))).toEqual({ kind: "resolve", branch: { name: "main", id: next } });
  });

  test.each([
    ["no branch", []],
    ["two branches", [old, next]],
  ])("what was resolved is over once %s has the name: then nothing is created", (_, ids) => {
    expect(planned(unlinked(), listed(ids))).toEqual({ kind: "resolve", branch: undefined });
    const self = unlinked({ status: { resolvedBranch: undefined } });
    expect(planned(self, listed(ids))).toMatchObject({ kind: "blocked", reason: "BranchNotFound" });
  });

  test("a failed list keeps what was resolved, and nothing is created from it", () => {
    const failure = { kind: "unavailable", message: "HTTP 500" } as const;
    expect(planned(unlinked(), { kind: "failed", failure })).toMatchObject({
      kind: "wait",
      reason: "ServiceUnavailable",
    });
  });

  test("nothing is done while no list of branches is there", () => {
    expect(planned(unlinked(), undefined)).toEqual({ kind: "noop" });
  });
});

describe("a create whose outcome is not known", () => {
  const seen = (agoMs: number) => ({ write: openSince(now - agoMs, { branchID: old }) });
  const over = { write: { ...openSince(0, { branchID: old }), phase: "closed" } } as const;

  test("settles against the branch that it was sent to, whatever its name comes to since", () => {
    const self = unlinked({ status: { resolvedBranch: { name: "main", id: next } } });
    // On the new branch nothing would refuse a second primary.
    expect(planned(self, listed([next]), { state: seen(1000) })).toMatchObject({
      kind: "wait",
      reason: "CreateUnknown",
    });
    expect(planned(self, listed([next]), { state: over })).toMatchObject({
      kind: "create",
      attributes: { branch_id: next },
    });
  });

  test("a late create is linked on the branch that it was sent to, and moved afterwards", () => {
    const self = unlinked({ status: { resolvedBranch: { name: "main", id: next } } });
    const observed = observedBy(self, [madeBy(self, { id: "ep-late", branch_id: old })]);
    const action = plan({ ...observed, named: listed([next]) }, new ReconcileState(0, "this-term", seen(1000)).known);
    expect(action).toMatchObject({ kind: "link", endpointID: "ep-late" });
  });
});

describe("a name that has gone to another branch", () => {
  test("a moved name is followed with Correct once lists ten seconds apart agree, and says so", () => {
    expect(planned(named(), listed([next], 9999))).toEqual({ kind: "noop" });
    expect(planned(named(), listed([next], 10_000))).toEqual({
      kind: "resolve",
      branch: { name: "main", id: next },
      moves: `The branch named "main" was ${old} and is ${next} now. The endpoint is moved there because driftPolicy is Correct.`,
    });
  });

  test("moves the endpoint as an edit of branchID does, once it is resolved", () => {
    const self = named({ status: { resolvedBranch: { name: "main", id: next } } });
    expect(planned(self, listed([next]))).toMatchObject({
      kind: "patch",
      attributes: { branch_id: next },
      progress: "Moving",
    });
  });

  test("a moved name is drift with Report, and nothing is sent", () => {
    const self = named({ spec: { driftPolicy: "Report" } });
    const drift = [{ field: "branchName", ours: `main (${next})`, theirs: old }];
    expect(planned(self, listed([next], 9999))).toEqual({ kind: "noop" });
    expect(planned(self, listed([next]))).toMatchObject({ kind: "settled", reason: "Drifted", drift });
  });

  test("a moved name is resolved at once where the endpoint is there already, also with Report", () => {
    const self = named({ spec: { driftPolicy: "Report" } });
    expect(planned(self, listed([next], 0), { branch: next })).toEqual({
      kind: "resolve",
      branch: { name: "main", id: next },
    });
  });

  test("does not hold up other changes, until it is followed", () => {
    const self = named({ spec: { computeUnits: { min: 2, max: 2 }, driftPolicy: "Correct" } });
    const at = madeBy(self, { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 });
    const action = plan(
      { ...observedBy(self, [at]), named: listed([next], 0) },
      new ReconcileState(0, "this-term").known,
    );
    expect(action).toMatchObject({ kind: "patch", fields: ["computeUnits.min", "computeUnits.max"] });
  });

  test("makes nothing of an earlier move that lists did not show yet", () => {
    const patched = {
      generation: 1,
      branchID: old,
      fields: ["branchID"],
      listsWithout: [1, 10_001],
      at: now,
      tries: 0,
    };
    const self = named({ status: { resolvedBranch: { name: "main", id: next } } });
    const state = new ReconcileState(0, "this-term", { patched });
    const observed = { ...observedBy(self, [madeBy(self, { branch_id: "br-third" })]), named: listed([next]) };
    state.listed(observed);
    expect(plan(observed, state.known)).toMatchObject({ kind: "patch", attributes: { branch_id: next } });
  });
});

describe("a name that no branch has, or more than one,", () => {
  test.each([
    ["none", [], "has no branch named"],
    ["two", [old, next], "has more than one branch named"],
  ])(
    "a name without exactly one branch is reported where all else is as declared, once lists agree: %s",
    (_, ids, words) => {
      expect(planned(named(), listed(ids, 9999))).toEqual({ kind: "noop" });
      expect(planned(named(), listed(ids))).toMatchObject({
        kind: "blocked",
        reason: "BranchNotFound",
        message: expect.stringMatching(new RegExp(`${words}.*stays on branch ${old}`)),
      });
    },
  );

  test("ends a move that was not carried out", () => {
    expect(planned(named(), listed([]), { branch: "br-third" })).toEqual({ kind: "resolve", branch: undefined });
    const over = named({ status: { resolvedBranch: undefined, branchID: "br-third" } });
    expect(planned(over, listed([]), { branch: "br-third" })).toMatchObject({
      kind: "blocked",
      reason: "BranchNotFound",
    });
  });

  test("holds all of an edit that names it, as the service would refuse the whole change", () => {
    const self = named({ spec: { branchName: "nowhere", disabled: true }, status: { branchID: old } });
    expect(planned(self, listed([]))).toMatchObject({ kind: "blocked", reason: "BranchNotFound" });
  });

  test("quotes whatever it holds", () => {
    const self = unlinked({ spec: { branchName: 'a "b"\nc' }, status: { resolvedBranch: undefined } });
    expect(planned(self, listed([]))).toMatchObject({ message: expect.stringContaining('named "a \\"b\\"\\nc"') });
  });
});

describe("lists of branches that fail", () => {
  const failed = (kind: "notFound" | "forbidden"): NamedBranch => ({
    kind: "failed",
    failure: { kind, message: "this route does not exist" },
  });

  test("leave what is there as it is", () => {
    expect(planned(named(), failed("forbidden"))).toMatchObject({ kind: "settled", reason: "Active" });
  });

  test("say what to do where a name is needed", () => {
    const self = unlinked({ status: { resolvedBranch: undefined } });
    expect(planned(self, failed("notFound"))).toMatchObject({
      reason: "BranchNotFound",
      message:
        "The service could not list the branches of project shiny-wind-028834, which spec.branchName needs: this route does not exist. Set spec.branchID instead; retried automatically.",
    });
    expect(planned(self, failed("forbidden"))).toMatchObject({ reason: "Forbidden" });
  });
});

describe("a deletion", () => {
  test.each([undefined, listed([]), listed([next])])(
    "a deletion does not depend on what the name comes to: %#",
    (comesTo) => {
      expect(planned(named({ deleting: true }), comesTo)).toMatchObject({ kind: "delete", endpointID: "ep-one" });
    },
  );

  test("deletes nothing on a branch that its name never came to", () => {
    const self = unlinked({
      deleting: true,
      status: { resolvedBranch: undefined },
      spec: { adopt: { branchPrimary: true } },
    });
    const action = plan(observedBy(self, [endpoint({ branch_id: old })]), new ReconcileState(0, "this-term").known);
    expect(action).toMatchObject({ kind: "release" });
  });
});
