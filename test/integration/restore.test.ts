import { expect, it } from "vitest";
import { isReady } from "../support/is-ready.ts";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

const computes = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes";
const secret = "/api/v1/namespaces/default/secrets/details";
const on = (branchID: string, more: object = {}) => ({ projectID: "shop", branchID, ...more });
const replica = { type: "read_only" };

/** A cluster with Computes of every make, all settled. */
async function full(): Promise<{ world: SmallWorld; count: number }> {
  const world = new SmallWorld(["br-a", "br-b", "br-c", "br-d"], 1);
  const made = async (endpoint: object): Promise<string> => {
    const answer: { endpoint: { id: string } } = world.console("POST", "/projects/shop/endpoints", { endpoint });
    await world.clock.advance(10_000);
    return answer.endpoint.id;
  };
  const theirs = await made({ branch_id: "br-c", type: "read_only" });
  await made({ branch_id: "br-d", type: "read_write" });
  const specs = [
    on("br-a", { computeUnits: { min: 1, max: 2 }, connectionSecret: { name: "details" } }),
    on("br-b", replica),
    on("br-b", { ...replica, disabled: true, driftPolicy: "Report" }),
    on("br-c", { ...replica, adopt: { endpointID: theirs } }),
    on("br-d", { adopt: { branchPrimary: true } }),
  ];
  for (const [index, spec] of specs.entries()) world.declare(index, spec);
  await world.settle(specs.length);
  world.annotate(1, "restartedAt", "monday");
  await world.clock.advance(60_000);
  return { world, count: specs.length };
}

it("all Computes restored from a backup into an empty cluster: nothing is made, changed or lost, and status is rebuilt", async () => {
  const { world, count } = await full();
  await using _ = world;
  const numbers = Array.from({ length: count }, (_index, index) => index);
  const before = numbers.map((index) => world.compute(index).status);
  const endpoints = world.endpoints;
  world.host.calls.length = 0;
  await world.restart(() => {
    const backup = numbers.map((index) => world.send("GET", `${computes}/db-${index}`));
    for (const index of numbers) {
      world.dropFinalizers(index);
      world.remove(index);
    }
    // The other way round, so that who is older is another.
    for (const { apiVersion, kind, metadata, spec } of backup.toReversed()) {
      const { name, annotations } = metadata;
      world.send("POST", computes, { apiVersion, kind, metadata: { name, annotations }, spec });
    }
  });
  await world.clock.advance(30_000);
  // Its Secret came back with it, and still names an owner that is gone.
  expect(said(world.compute(0))).toContain('Secret "details" exists and does not belong to this Compute');
  world.send("DELETE", secret);
  await world.clock.advance(1000);
  expect(numbers.filter((index) => !isReady(world.compute(index)))).toEqual([]);
  await world.clock.advance(300_000);
  for (const index of numbers) {
    const { endpointID, host, size, state, restartedAt, binding } = before[index] ?? {};
    expect(world.compute(index).status).toMatchObject({ endpointID, host, size, state });
    expect(world.compute(index).status).toMatchObject({
      ...(restartedAt && { restartedAt }),
      ...(binding && { binding }),
    });
  }
  expect(world.writes).toEqual([]);
  expect(world.endpoints).toEqual(endpoints);
});
