import { expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const types = (world: SmallWorld) => world.compute(0).status.conditions?.map(({ type }) => type);

it("a branch that is not found stalls a Compute after five minutes, also in the next process, and is found all the same", async () => {
  await using world = new SmallWorld(["br-0"], 1);
  world.declare(0, { projectID: "shop", branchName: "later" });
  await world.clock.advance(290_000);
  expect(types(world)).toEqual(["Ready", "Synced", "Reconciling"]);
  await world.clock.advance(30_000);
  expect(world.compute(0).status.conditions?.map(({ reason }) => reason)).toEqual(Array(3).fill("BranchNotFound"));
  expect(types(world)).toEqual(["Ready", "Synced", "Stalled"]);
  await world.restart();
  await world.clock.advance(30_000);
  expect(types(world)).toEqual(["Ready", "Synced", "Stalled"]);
  world.console("POST", "/projects/shop/branches", { branch: { name: "later" } });
  await world.clock.advance(60_000);
  await world.settle(1);
  expect(types(world)).toEqual(["Ready", "Synced"]);
});
