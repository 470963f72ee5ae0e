import { expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const branches = ["br-0-a", "br-1-a", "br-2-a", "br-3-a", "br-4-a", "br-5-a", "br-6-a"];
const notListed = [0, 1, 2, 3];

/** Four of seven computes vanish at once; then a person confirms the loss of the first, and it is created again. */
async function afterMassLoss(world: SmallWorld): Promise<void> {
  for (const [index, branchID] of branches.entries()) world.declare(index, { projectID: "shop", branchID });
  await world.settle(branches.length);
  await world.clock.advance(30_000);
  for (const index of notListed) {
    world.console("DELETE", `/projects/shop/endpoints/${world.compute(index).status.endpointID}`);
  }
  await world.clock.advance(60_000);
  expect(reasons(world)).toEqual(["MassLoss", "MassLoss", "MassLoss", "MassLoss"]);
  for (const index of notListed) world.annotate(index, "reconcileRequestedAt", "now");
  await world.clock.advance(60_000);
  expect(reasons(world)).toEqual(["MassLoss", "MassLoss", "MassLoss", "MassLoss"]);
  world.annotate(0, "confirmLoss", "now");
  await world.clock.advance(60_000);
  expect(reasons(world).slice(1)).toEqual(["MassLoss", "MassLoss", "MassLoss"]);
}

function reasons(world: SmallWorld): (string | undefined)[] {
  return notListed.map((index) => world.compute(index).status.conditions?.[0]?.reason);
}

it.each([
  [
    "a service that was away",
    async (world: SmallWorld) => {
      const down = { status: 503, headers: {}, body: JSON.stringify({ code: "", message: "down" }) };
      world.host.instead = () => down;
      await world.clock.advance(90_000);
      expect(reasons(world).slice(1)).not.toContain("MassLoss");
      world.host.instead = undefined;
    },
  ],
  [
    "a pause",
    async (world: SmallWorld) => {
      for (const index of notListed) world.annotate(index, "paused", "true");
      await world.clock.advance(30_000);
      expect(reasons(world).slice(1)).not.toContain("MassLoss");
      for (const index of notListed) world.annotate(index, "paused", undefined);
    },
  ],
])("after a mass loss %s is no reason to create again what nobody has confirmed as lost", async (_, happens) => {
  await using world = new SmallWorld(branches, 1);
  await afterMassLoss(world);
  const written = world.writes.length;
  await happens(world);
  await world.clock.advance(120_000);
  expect(world.writes.slice(written)).toEqual([]);
  expect(reasons(world).slice(1)).toEqual(["MassLoss", "MassLoss", "MassLoss"]);

  for (const index of notListed) world.annotate(index, "confirmLoss", "then");
  await world.settle(branches.length);
  expect(world.endpoints).toHaveLength(branches.length);
  expect(world.compute(1).status.lossDoubted).toBeUndefined();
});

it("a confirmed loss is one: the same value confirms no later one, nor does one that was there before it", async () => {
  await using world = new SmallWorld(branches, 1);
  await afterMassLoss(world);
  for (const index of notListed) world.annotate(index, "confirmLoss", "now");
  await world.clock.advance(10_000);
  // Of the first one this value has served.
  for (const index of notListed.slice(1)) world.annotate(index, "confirmLoss", "then");
  await world.settle(branches.length);
  const written = world.writes.length;
  for (const index of notListed) {
    world.console("DELETE", `/projects/shop/endpoints/${world.compute(index).status.endpointID}`);
  }
  await world.clock.advance(300_000);
  expect(reasons(world)).toEqual(["MassLoss", "MassLoss", "MassLoss", "MassLoss"]);
  expect(world.writes.length).toBe(written);
  expect(notListed.map((index) => world.compute(index).status.lastHandledConfirmLoss)).toEqual([
    "now",
    "then",
    "then",
    "then",
  ]);
  for (const index of notListed) world.annotate(index, "confirmLoss", "again");
  await world.settle(branches.length);
});

it("ids that somebody typed, of endpoints that no list has shown, turn nobody's loss into a mass loss", async () => {
  await using world = new SmallWorld(["br-0-a", "br-1-a"], 1);
  world.declare(0, { projectID: "shop", branchID: "br-0-a" });
  await world.settle(1);
  for (let index = 1; index <= 8; index += 1) {
    world.declare(index, { projectID: "shop", branchID: "br-1-a", type: "read_only" });
    world.annotate(index, "endpoint-id", `ep-typed-${index}`);
  }
  await world.clock.advance(60_000);
  const lost = world.compute(0).status.endpointID;
  world.console("DELETE", `/projects/shop/endpoints/${lost}`);
  await world.clock.advance(120_000);
  await world.settle(1);
  expect(world.endpoints.map(({ id }) => id)).toEqual([world.compute(0).status.endpointID]);
  expect(world.compute(0).status.endpointID).not.toBe(lost);
});
