import { expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

/** It stays active. */
const spec = { projectID: "shop", branchID: "br-main", scaleToZero: { enabled: false } };

/** The series of a metric, with their values. */
async function seriesOf(world: SmallWorld, name: string): Promise<string[]> {
  const lines = (await world.metrics()).split("\n");
  return lines.filter((line) => line.startsWith(`compute_operator_${name}{`)).map((line) => line.slice(17));
}

it("Computes, operations, drift and hours carry the namespace of the Computes", async () => {
  await using world = new SmallWorld([], 1);
  world.declare(0, { ...spec, computeUnits: { min: 1, max: 1 } });
  await world.settle(1);
  expect(await seriesOf(world, "computes")).toEqual(['computes{namespace="default",state="Active",ready="True"} 1']);
  expect(await seriesOf(world, "operations_total")).toContainEqual(
    expect.stringMatching(/^operations_total\{namespace="default",action="\w+",outcome="done"\} [1-9]/),
  );
  // A series that begins with its first correction shows no increase.
  expect(await seriesOf(world, "drift_corrections_total")).toEqual(['drift_corrections_total{namespace="default"} 0']);
  const { endpointID } = world.compute(0).status;
  world.console("PATCH", `/projects/shop/endpoints/${endpointID}`, { endpoint: { autoscaling_limit_max_cu: 2 } });
  await world.clock.advance(120_000);
  expect(await seriesOf(world, "drift_corrections_total")).toEqual(['drift_corrections_total{namespace="default"} 1']);
  expect(await seriesOf(world, "compute_unit_hours_bound_total")).toContainEqual(
    expect.stringMatching(/^compute_unit_hours_bound_total\{namespace="default",project="shop"\} 0\.0/),
  );
});

it("namespaces that are not named are other", async () => {
  await using world = new SmallWorld([], 1, {}, undefined, { metricsNamespaces: ["elsewhere"] });
  world.declare(0, spec);
  await world.settle(1);
  expect(await seriesOf(world, "computes")).toEqual(['computes{namespace="other",state="Active",ready="True"} 1']);
});
