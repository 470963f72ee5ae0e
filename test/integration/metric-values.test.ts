import { expect, it } from "vitest";
import { fleetOf, signatureOf } from "../../src/operator/resources/signature.ts";
import { connectNamespace } from "./support/in-memory.ts";
import { manifest, storedKeySecret } from "./support/manifests.ts";
import { consoleKey } from "./support/seeded-service.ts";
import { SmallWorld } from "./support/small-world.ts";

const branchID = "br-0-a";
/** Stays active. */
const replica = { projectID: "shop", branchID, type: "read_only", scaleToZero: { enabled: false } };

/** The values of a metric by its labels, those of 0 left out. */
async function valuesOf(world: SmallWorld, name: string): Promise<Record<string, number>> {
  const series = new RegExp(`^compute_operator_${name}(\\{.*\\})? (\\S+)$`, "gm");
  const found = [...(await world.metrics()).matchAll(series)].map(([, labels = "", value]) => [labels, Number(value)]);
  return Object.fromEntries(found.filter(([, value]) => value !== 0));
}

it("counts each request to the service once, by its method, route and answer", async () => {
  await using world = new SmallWorld([branchID], 1);
  world.declare(0, replica);
  world.declare(1, replica);
  await world.settle(2);
  world.edit(0, { computeUnits: { min: 2, max: 2 } });
  await world.settle(2);
  world.remove(1);
  await world.clock.advance(60_000);
  const counted = new Map<string, number>();
  for (const [labels, value] of Object.entries(await valuesOf(world, "service_requests_total"))) {
    const [method, code] = ["method", "code"].map((label) => new RegExp(`${label}="([^"]*)"`).exec(labels)?.[1]);
    counted.set(`${method} ${code}`, (counted.get(`${method} ${code}`) ?? 0) + value);
  }
  const arrived = new Map<string, number>();
  for (const { method, status } of world.host.calls) {
    arrived.set(`${method} ${status}`, (arrived.get(`${method} ${status}`) ?? 0) + 1);
  }
  expect(counted).toEqual(arrived);
  expect(["POST 201", "PATCH 200", "DELETE 200"].map((kind) => counted.get(kind))).toEqual([2, 1, 1]);
});

it("shows how many Computes there are in each state, and none of those that are gone", async () => {
  await using world = new SmallWorld([branchID], 1);
  for (const index of [0, 1, 2]) world.declare(index, replica);
  await world.settle(3);
  const labels = (state: string, ready: string) => `{namespace="default",state="${state}",ready="${ready}"}`;
  expect(await valuesOf(world, "computes")).toEqual({ [labels("Active", "True")]: 3 });
  world.edit(0, { disabled: true });
  await world.settle(3);
  expect(await valuesOf(world, "computes")).toEqual({
    [labels("Active", "True")]: 2,
    [labels("Disabled", "True")]: 1,
  });
  world.remove(1);
  world.remove(2);
  await world.clock.advance(60_000);
  expect(await valuesOf(world, "computes")).toEqual({ [labels("Disabled", "True")]: 1 });
});

it("shows how many deletions the brake holds, one fewer with each that it lets go", async () => {
  await using world = new SmallWorld([branchID], 1, {}, undefined, { maxDeletesPerMinute: 1 });
  for (const index of [0, 1, 2]) world.declare(index, replica);
  await world.settle(3);
  expect(await valuesOf(world, "deletes_held")).toEqual({});
  for (const index of [0, 1, 2]) world.remove(index);
  const held: number[] = [];
  for (let seconds = 0; seconds < 240; seconds += 1) {
    await world.clock.advance(1000);
    const now = (await valuesOf(world, "deletes_held"))[""] ?? 0;
    if (now !== held.at(-1)) held.push(now);
  }
  expect(held.filter((value, at) => at === 0 || value < (held[at - 1] ?? 0)).slice(-2)).toEqual([1, 0]);
  expect(Math.max(...held)).toBe(2);
  expect(world.endpoints).toEqual([]);
});

it("counts a correction for each change outside the operator, and none for a change of the spec", async () => {
  await using world = new SmallWorld([branchID], 1);
  world.declare(0, { ...replica, computeUnits: { min: 1, max: 1 } });
  await world.settle(1);
  world.edit(0, { computeUnits: { min: 2, max: 2 } });
  await world.settle(1);
  await world.clock.advance(120_000);
  expect(await valuesOf(world, "drift_corrections_total")).toEqual({});
  const { endpointID } = world.compute(0).status;
  for (const [max, corrected] of [
    [4, 1],
    [8, 2],
  ]) {
    const endpoint = { autoscaling_limit_max_cu: max };
    world.console("PATCH", `/projects/shop/endpoints/${endpointID}`, { endpoint });
    await world.clock.advance(120_000);
    expect(await valuesOf(world, "drift_corrections_total")).toEqual({ '{namespace="default"}': corrected });
  }
});

it("counts compute-unit hours up to the largest size: an hour of 2 CU makes 2", async () => {
  await using world = new SmallWorld([branchID], 1);
  world.declare(0, { ...replica, computeUnits: { min: 2, max: 2 } });
  await world.settle(1);
  const hours = async () => Object.values(await valuesOf(world, "compute_unit_hours_bound_total"))[0] ?? 0;
  await world.clock.advance(60_000);
  const before = await hours();
  await world.clock.advance(3_600_000);
  expect((await hours()) - before).toBeCloseTo(2, 1);
});

it("counts an orphan once, though two keys reach its project", async () => {
  await using world = new SmallWorld([branchID], 1, {}, undefined, { fleet: "prod" });
  world.send("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "eu" } });
  connectNamespace("eu", (path, body) => world.send("POST", path, body));
  const secret = "/api/v1/namespaces/eu/secrets/service-api-key";
  world.send("PUT", secret, { ...world.send("GET", secret), ...storedKeySecret(consoleKey) });
  const gone = { namespace: "default", name: "gone", uid: "0f6c1d1e-8d5b-4c57-9a3e-000000000001", resourceVersion: "" };
  const name = signatureOf({ metadata: gone }, fleetOf("prod"));
  world.console("POST", "/projects/shop/endpoints", { endpoint: { branch_id: branchID, type: "read_only", name } });
  world.declare(0, replica);
  const computes = "/apis/compute-operator.dev/v1alpha1/namespaces/eu/computes";
  world.send("POST", computes, manifest("db", replica));
  await world.settle(1);
  await world.clock.advance(60_000);
  expect(Object.keys(await valuesOf(world, "request_budget_available"))).toHaveLength(2);
  expect(await valuesOf(world, "orphaned_endpoints")).toEqual({ "": 1 });
});

it("shows nothing of the service once the operator has stopped, and leaves no timer", async () => {
  await using world = new SmallWorld([branchID], 1);
  world.declare(0, replica);
  await world.settle(1);
  const shown = async () =>
    (await world.metrics())
      .split("\n")
      .filter((line) => /^compute_operator_(request_budget_available|endpoint_list_age|refresh_interval)/.test(line));
  expect((await shown()).length).toBeGreaterThan(1);
  await world[Symbol.asyncDispose]();
  expect(await shown()).toEqual([]);
  expect(world.clock.pending).toBe(0);
});
