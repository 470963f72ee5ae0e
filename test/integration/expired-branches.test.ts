import { expect, it } from "vitest";
import { conditionOf } from "../../src/operator/objects/conditions-of.ts";
import { withoutBranches } from "./support/named-branches.ts";
import { SmallWorld } from "./support/small-world.ts";

const previews = Array.from({ length: 12 }, (_, index) => `br-preview-${index}`);
const place = (branchID: string) => ({ projectID: "shop", branchID });

/** Previews by number, each with a Compute, and one Compute more on a branch that stays. */
async function previewing(): Promise<SmallWorld> {
  const world = new SmallWorld(["br-stays", ...previews], 1);
  for (const [index, branchID] of [...previews, "br-stays"].entries()) world.declare(index, place(branchID));
  await world.settle(previews.length + 1);
  await world.clock.advance(30_000);
  world.host.calls.length = 0;
  return world;
}

const seen = (world: SmallWorld, index: number) => {
  const { state, conditions } = world.compute(index).status;
  return `${state} ${conditionOf({ conditions }, "Ready")?.reason}`;
};

it("preview branches that expire, all at once, leave Computes that are NotCreated, and nothing is lost", async () => {
  await using world = await previewing();
  for (const id of previews) world.console("DELETE", `/projects/shop/branches/${id}`);
  await world.clock.advance(120_000);
  expect(previews.map((_, index) => seen(world, index))).toEqual(previews.map(() => "NotCreated BranchNotFound"));
  expect(seen(world, previews.length)).toMatch(/^(Active Active|Idle Idle)$/);
  expect([world.timesEmitted("EndpointLost"), world.timesEmitted("MassLoss")]).toEqual([0, 0]);
  expect([world.writes, world.host.calls.filter(({ path }) => /endpoints\/ep-/.test(path))]).toEqual([[], []]);
  // One list of branches proves it, and one per refresh shows whether it comes back.
  expect(world.host.calls.filter(({ path }) => path.endsWith("/branches")).length).toBeLessThanOrEqual(5);
  world.remove(0);
  await world.clock.advance(60_000);
  expect([world.isGone(0), world.writes]).toEqual([true, []]);
});

it("expired branches do not count for a mass loss: an endpoint lost beside them is made again", async () => {
  await using world = await previewing();
  const lost = world.compute(previews.length).status.endpointID;
  for (const id of previews) world.console("DELETE", `/projects/shop/branches/${id}`);
  world.console("DELETE", `/projects/shop/endpoints/${lost}`);
  await world.clock.advance(120_000);
  expect(world.writes).toEqual(["POST /projects/shop/endpoints"]);
  expect(world.compute(previews.length).status.endpointID).not.toBe(lost);
});

it("a Compute of an expired branch is made on another that its spec names", async () => {
  await using world = await previewing();
  world.console("DELETE", `/projects/shop/branches/${previews[0]}`);
  await world.clock.advance(60_000);
  const { id } = world.console("POST", "/projects/shop/branches", { branch: { name: "next" } }).branch;
  world.edit(0, { branchID: id });
  await world.clock.advance(60_000);
  await world.settle(1);
  expect(world.endpoint(world.compute(0).status.endpointID).branch_id).toBe(id);
});

it.each([404, 403])(
  "where the service answers %i to lists of branches, many that vanish at once are a mass loss",
  async (status) => {
    await using world = await previewing();
    withoutBranches(world, status);
    for (const id of previews) world.console("DELETE", `/projects/shop/branches/${id}`);
    await world.clock.advance(120_000);
    expect(seen(world, 0)).toBe("Lost MassLoss");
  },
);
