import { describe, expect, test } from "vitest";
import type { Endpoint } from "../../../../src/api/endpoint.ts";
import { plan } from "../../../../src/operator/compute/plan/plan.ts";
import {
  type ComputeFields,
  compute,
  endpoint,
  type InputFields,
  input,
  madeBy,
  now,
} from "../../../support/builders.ts";

/** A linked Compute at rest, as this endpoint and these other facts show it. */
function planned(fields: ComputeFields, seen: Partial<Endpoint> = {}, rest: InputFields = {}) {
  const { endpoints = [], ...others } = rest;
  const self = compute({ linked: "ep-one", shows: "Active", ...fields });
  return plan(...input({ compute: self, endpoints: [madeBy(self, seen), ...endpoints], ...others }));
}

const edited = { generation: 2, status: { appliedGeneration: 1 } };
describe("an edit", () => {
  test("names every field that it sends, also those that the service does not show", () => {
    const spec = { passwordlessAccess: false, disabled: true };
    expect(planned({ ...edited, spec }, { disabled: false })).toMatchObject({
      attributes: { disabled: true, passwordless_access: false },
      fields: ["disabled", "passwordlessAccess"],
    });
  });

  test("sends a field that differs and cannot wholly be read once, and beside it one that cannot be read", () => {
    const spec = { disabled: true, postgresSettings: { a: "2", b: "2" } };
    const unreadable = ["settings.pg_settings.b", "disabled"];
    expect(planned({ ...edited, spec }, { settings: { pg_settings: { a: "1" } }, unreadable })).toMatchObject({
      attributes: { disabled: true, settings: { pg_settings: { a: "2", b: "2" } } },
      fields: ["postgresSettings", "disabled"],
    });
  });
});

test("a difference is no edit where the service accepted this generation, though no status says so yet", () => {
  const spec = { computeUnits: { min: 1, max: 2 }, driftPolicy: "Report" };
  const seen = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 8 };
  const state = { accepted: { endpointID: "ep-one", generation: 2, drift: [] } };
  expect(planned({ ...edited, spec }, seen)).toMatchObject({ kind: "patch" });
  expect(planned({ ...edited, spec }, seen, { state }).kind).not.toBe("patch");
});

describe("a change that is not sent again at once is reconciled again", () => {
  const spec = { computeUnits: { min: 1, max: 2 } };
  const seen = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 8 };

  test("a change that the service accepted and did not keep is reconciled again in a minute", () => {
    const fields = ["computeUnits.max"];
    const patched = { generation: 1, branchID: "br-main", fields, listsWithout: [1, 10_001], at: now - 1000, tries: 0 };
    expect(planned({ spec }, seen, { state: { patched } })).toMatchObject({ kind: "blocked", requeueAfterMs: 59_000 });
  });

  test("a change that something else keeps undoing is reconciled again in ten minutes", () => {
    const corrections = [1, 2, 3, 4].map((n) => ({ generation: 1, at: now - n * 60_000 }));
    expect(planned({ spec }, seen, { state: { corrections } })).toMatchObject({
      kind: "blocked",
      requeueAfterMs: 600_000,
    });
  });

  test("a change that the service accepted and does not show yet is reconciled again with the next list", () => {
    const patched = {
      generation: 1,
      branchID: "br-main",
      fields: ["computeUnits.max"],
      listsWithout: [],
      at: now - 1000,
      tries: 0,
    };
    expect(planned({ spec }, seen, { state: { patched } })).toEqual({
      kind: "wait",
      reason: "Updating",
      message: "The service accepted a change and does not show it yet.",
    });
  });
});

describe("a move", () => {
  const here = { branch_id: "br-main" };
  const there = endpoint({ id: "ep-there", branch_id: "br-next" });

  test("a move to a branch with a primary is not sent, nor is what differs besides", () => {
    const spec = { branchID: "br-next", disabled: true };
    const seen = { ...here, disabled: false };
    expect(planned({ spec }, seen, { endpoints: [there] })).toMatchObject({ kind: "blocked", reason: "PrimaryExists" });
  });

  test("the move of a replica to a branch with a primary is sent", () => {
    const spec = { type: "read_only", branchID: "br-next" };
    expect(planned({ spec }, here, { endpoints: [there] })).toMatchObject({ kind: "patch", progress: "Moving" });
  });
});
