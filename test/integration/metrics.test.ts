import { expect, it } from "vitest";
import { connectNamespace } from "./support/in-memory.ts";
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

/** The values of a gauge by its labels. */
async function valuesOf(world: SmallWorld, name: string): Promise<Record<string, number>> {
  const lines = (await world.metrics()).split("\n").filter((line) => line.startsWith(`compute_operator_${name}`));
  return Object.fromEntries(
    lines.map((line) => {
      const [series = "", value] = line.slice(17).split(" ");
      return [series.slice(name.length), Number(value)];
    }),
  );
}

it("gauges of time are in seconds, and count up from what they are about", async () => {
  await using world = new SmallWorld([], 1);
  world.declare(0, spec);
  await world.settle(1);
  await world.clock.advance(10_000);
  const before = await valuesOf(world, "watch_last_event_age_seconds");
  await world.clock.advance(7000);
  const after = await valuesOf(world, "watch_last_event_age_seconds");
  expect(Object.keys(after).length).toBeGreaterThan(3);
  // A watch that heard something meanwhile began again.
  const passed = Object.entries(after).map(([kind, age]) => Math.round(1000 * (age - (before[kind] ?? 0))) / 1000);
  expect(passed.filter((seconds) => seconds === 7).length).toBeGreaterThan(0);
  expect(passed.every((seconds) => seconds <= 7)).toBe(true);
  expect(Object.values(await valuesOf(world, "refresh_interval_seconds"))).toEqual([30]);
  const [age = -1] = Object.values(await valuesOf(world, "endpoint_list_age_seconds"));
  expect(age).toBeGreaterThan(0);
  expect(age).toBeLessThanOrEqual(30);
});

it("connections of one name in two namespaces show an interval each", async () => {
  await using world = new SmallWorld([], 1);
  // Connections that share a service and a key share a session, and with it the shortest interval.
  world.services.connect("eu.test");
  world.send("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "eu" } });
  connectNamespace("eu", (path, body) => world.send("POST", path, body));
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/eu/serviceconnections/default";
  const connection = world.send("GET", path);
  const elsewhere = { ...connection.spec, baseURL: "http://eu.test/api/v2", refreshInterval: "45s" };
  world.send("PUT", path, { ...connection, spec: elsewhere });
  await world.clock.advance(10_000);
  expect(await valuesOf(world, "refresh_interval_seconds")).toEqual({
    '{connection="default/default"}': 30,
    '{connection="eu/default"}': 45,
  });
});

it("says who leads, what waits and what is held as numbers", async () => {
  await using world = new SmallWorld([], 1);
  world.declare(0, spec);
  await world.settle(1);
  expect(await valuesOf(world, "leader")).toEqual({ "": 1 });
  expect(await valuesOf(world, "deletes_held")).toEqual({ "": 0 });
  expect(Object.values(await valuesOf(world, "queue_depth"))).toEqual([0, 0, 0, 0]);
  expect(Object.values(await valuesOf(world, "request_budget_available"))).toEqual([1000]);
  expect(await valuesOf(world, "orphaned_endpoints")).toEqual({ "": 0 });
});
