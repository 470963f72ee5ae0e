import { expect, test } from "vitest";
import { ComputeCounts } from "../../../src/operator/manager/compute-counts.ts";
import { compute } from "../../support/builders.ts";

function one(state: "Active" | "Idle", status: "True" | "False" = "True", namespace = "shop") {
  const ready = { type: "Ready", status, reason: state, message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
  return compute({ namespace, status: { state, conditions: [ready] } });
}

test("counts by namespace, state and readiness with each change; what no Compute has is not there", () => {
  const counts = new ComputeCounts();
  const shown = () => [...counts.all()].map(({ state, ready, count }) => `${state} ${ready} ${count}`);
  counts.change({ type: "added", object: one("Active") });
  counts.change({ type: "added", object: one("Active") });
  counts.change({ type: "added", object: compute({ namespace: "shop" }) });
  expect(shown()).toEqual(["Active True 2", "Unknown Unknown 1"]);
  counts.change({ type: "updated", previous: one("Active"), object: one("Idle", "False") });
  counts.change({ type: "deleted", previous: compute({ namespace: "shop" }), object: one("Idle") });
  expect(shown()).toEqual(["Active True 1", "Idle False 1"]);
  counts.change({ type: "deleted", object: one("Active") });
  expect([...counts.all()]).toEqual([{ namespace: "shop", state: "Idle", ready: "False", count: 1 }]);
  expect([...counts.byNamespace()]).toEqual([["shop", 1]]);
  counts.change({ type: "deleted", object: one("Idle", "False") });
  expect([...counts.all(), ...counts.byNamespace()]).toEqual([]);
});

test("counts Computes apart that differ in any one of the three", () => {
  const counts = new ComputeCounts();
  for (const object of [one("Active"), one("Idle"), one("Active", "False"), one("Active", "True", "stock")])
    counts.change({ type: "added", object });
  expect([...counts.all()]).toEqual([
    { namespace: "shop", state: "Active", ready: "True", count: 1 },
    { namespace: "shop", state: "Idle", ready: "True", count: 1 },
    { namespace: "shop", state: "Active", ready: "False", count: 1 },
    { namespace: "stock", state: "Active", ready: "True", count: 1 },
  ]);
  expect([...counts.byNamespace()]).toEqual([
    ["shop", 3],
    ["stock", 1],
  ]);
});
