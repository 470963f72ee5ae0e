import { expect, test } from "vitest";
import { ComputeCounts } from "../../../src/operator/manager/compute-counts.ts";
import { compute } from "../../support/builders.ts";

function one(state: "Active" | "Idle", status: "True" | "False" = "True") {
  const ready = { type: "Ready", status, reason: state, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
  return compute({ status: { state, conditions: [ready] } });
}

test("counts by namespace, state and readiness with each change; what no Compute has is not there", () => {
  const counts = new ComputeCounts();
  const shown = () => [...counts.all()].map(({ state, ready, count }) => `${state} ${ready} ${count}`);
  counts.change({ type: "added", object: one("Active") });
  counts.change({ type: "added", object: one("Active") });
  counts.change({ type: "added", object: compute() });
  expect(shown()).toEqual(["Active True 2", "Unknown Unknown 1"]);
  counts.change({ type: "updated", previous: one("Active"), object: one("Idle", "False") });
  counts.change({ type: "deleted", previous: compute(), object: one("Idle") });
  expect(shown()).toEqual(["Active True 1", "Idle False 1"]);
  counts.change({ type: "deleted", object: one("Active") });
  expect(shown()).toEqual(["Idle False 1"]);
});
