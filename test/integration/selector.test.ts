import { expect, it } from "vitest";
import { calm } from "../simulation/api-server/faults.ts";
import { isReady } from "../support/is-ready.ts";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a" };
const create = "POST /projects/shop/endpoints";
const newWorld = () =>
  new SmallWorld([place.branchID, "br-1-a"], 1, {}, calm, { selects: (labels) => labels?.["shard"] === "a" });

it("a Compute that another operator's selector selects is left alone, and what it claims is its own all the same", async () => {
  await using world = newWorld();
  world.declare(0, place);
  await world.clock.advance(60_000);
  world.declare(1, place);
  world.label(1, "shard", "a");
  await world.clock.advance(180_000);
  expect(world.compute(0).metadata.finalizers).toBeUndefined();
  expect(world.compute(0).status.conditions).toBeUndefined();
  expect(said(world.compute(1))).toContain("Compute default/db-0 claims");
  expect(world.writes).toEqual([]);
});

it("a Compute that comes under the selector is first written to after a minute, which its former operator has to end", async () => {
  await using world = newWorld();
  world.declare(0, place);
  await world.clock.advance(60_000);
  world.label(0, "shard", "a");
  const { resourceVersion } = world.compute(0).metadata;
  await world.clock.advance(59_000);
  expect(world.compute(0).metadata.resourceVersion).toBe(resourceVersion);
  expect(world.writes).toEqual([]);
  await world.clock.advance(10_000);
  await world.settle(1);
  expect(isReady(world.compute(0))).toBe(true);
  expect(world.writes).toEqual([create]);
});

it("a Compute that is found under the selector at the start is not kept waiting", async () => {
  await using world = newWorld();
  world.declare(0, place);
  await world.restart(() => world.label(0, "shard", "a"));
  await world.clock.advance(5000);
  expect(world.writes).toEqual([create]);
});
