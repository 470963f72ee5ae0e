import { describe, expect, it } from "vitest";
import { isReady } from "../support/is-ready.ts";
import { SmallWorld } from "./support/small-world.ts";

const connections = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections";
const place = { projectID: "shop", branchID: "br-0-a" };
const sized = (cu: number) => ({ ...place, computeUnits: { min: cu, max: cu } });
const patches = (world: SmallWorld) =>
  world.host.calls.filter(({ method }) => method === "PATCH").map(({ body }) => body);

function setBudget(world: SmallWorld, requestBudget: { perMinute: number; burst: number }, name = "default"): void {
  const connection = world.send("GET", `${connections}/${name}`);
  world.send("PUT", `${connections}/${name}`, { ...connection, spec: { ...connection.spec, requestBudget } });
}

/** A settled Compute whose connection has nothing left to send with for about half a minute. */
async function spent(): Promise<SmallWorld> {
  const world = new SmallWorld([place.branchID], 1);
  world.declare(0, sized(1));
  await world.settle(1);
  setBudget(world, { perMinute: 2, burst: 1 });
  // The rest is spent on this reconcile.
  world.annotate(0, "reconcileRequestedAt", "now");
  await world.clock.advance(1000);
  return world;
}

describe("a write that waits for the request budget", () => {
  it("a waiting write is not sent when the Compute is paused meanwhile", async () => {
    await using world = await spent();
    world.declare(0, sized(2));
    await world.clock.advance(5000);
    world.annotate(0, "paused", "true");
    await world.clock.advance(600_000);
    expect(patches(world)).toEqual([]);
    world.annotate(0, "paused", undefined);
    await world.settle(1);
    expect(patches(world)).toHaveLength(1);
  });

  it("a waiting write sends what the spec asks for when its turn comes, and says what it waits for", async () => {
    await using world = await spent();
    world.declare(0, sized(2));
    await world.clock.advance(5000);
    expect(world.compute(0).status.conditions?.[0]?.message).toContain("spec.requestBudget");
    world.declare(0, sized(4));
    await world.settle(1);
    expect(patches(world)).toEqual([{ endpoint: { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 } }]);
  });

  it("a waiting deletion is not sent when the policy becomes Retain meanwhile", async () => {
    await using world = await spent();
    world.remove(0);
    await world.clock.advance(5000);
    const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/db-0";
    const object = world.send("GET", path);
    world.send("PUT", path, { ...object, spec: { ...object.spec, deletionPolicy: "Retain" } });
    await world.clock.advance(600_000);
    expect([world.isGone(0), world.endpoints.length]).toEqual([true, 1]);
  });
});

it("connections whose budget is spent keep no worker from the Computes of others", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  const poor = Array.from({ length: 20 }, (_, index) => `poor-${index}`);
  const base = world.send("GET", `${connections}/default`);
  const { resourceVersion: _version, uid: _uid, ...metadata } = base.metadata;
  for (const name of poor) {
    world.services.connect(`${name}.test`, { branches: ["br-poor"] });
    const spec = { ...base.spec, baseURL: `http://${name}.test/api/v2`, requestBudget: { perMinute: 2, burst: 1 } };
    world.send("POST", connections, { ...base, metadata: { ...metadata, name }, spec });
  }
  const rich = 8;
  let index = rich;
  for (const name of poor) {
    for (let n = 0; n < 2; n++) {
      world.declare(index++, { ...place, branchID: "br-poor", type: "read_only", connectionRef: { name } });
    }
  }
  for (let one = 0; one < rich; one++) {
    await world.clock.advance(11_000);
    world.declare(one, { ...place, type: "read_only" });
    await world.clock.advance(5000);
    expect([one, isReady(world.compute(one))]).toEqual([one, true]);
  }
  // They come to it too, each in its turn.
  await world.clock.advance(600_000);
  expect(Array.from({ length: index }, (_, one) => world.compute(one).status.endpointID)).not.toContain(undefined);
});

describe("an operator that stops", () => {
  it("keeps no timer for what waits for the request budget: its process would not end", async () => {
    const idle = new SmallWorld([place.branchID], 1);
    await idle.clock.advance(5000);
    await idle[Symbol.asyncDispose]();
    const world = await spent();
    world.declare(0, sized(2));
    await world.clock.advance(5000);
    await world[Symbol.asyncDispose]();
    expect([idle.clock.pending, world.clock.pending]).toEqual([0, 0]);
  });
});
