import { expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0" };

/** A world with a primary that was there before the operator. */
function inherited(): SmallWorld {
  const world = new SmallWorld([place.branchID], 1);
  world.console("POST", "/projects/shop/endpoints", { endpoint: { branch_id: place.branchID, type: "read_write" } });
  return world;
}

/** The id of the only endpoint. */
function onlyID({ endpoints }: SmallWorld): string {
  const [{ id } = { id: "" }, ...others] = endpoints;
  expect(others).toEqual([]);
  return id;
}

it.each([
  ["by its id", (id: string) => ({ endpointID: id })],
  ["as the branch's primary", () => ({ branchPrimary: true })],
])("an endpoint that was adopted %s stays when its Compute is deleted, for want of a policy", async (_, adopt) => {
  await using world = inherited();
  const id = onlyID(world);
  await world.clock.advance(10_000);
  world.declare(0, { ...place, adopt: adopt(id) });
  await world.settle(1);
  expect(world.compute(0).status.deletionPolicy).toBe("Retain");
  world.remove(0);
  await world.clock.advance(30_000);
  expect([world.isGone(0), world.endpoints.map((one) => one.id)]).toEqual([true, [id]]);
  expect(world.events("Released")).toEqual([expect.stringContaining("the Compute adopted it")]);
});

it("one that is made in the place of an adopted primary goes with its Compute", async () => {
  await using world = inherited();
  const id = onlyID(world);
  await world.clock.advance(10_000);
  world.declare(0, { ...place, adopt: { branchPrimary: true } });
  await world.settle(1);
  world.console("DELETE", `/projects/shop/endpoints/${id}`);
  await world.clock.advance(60_000);
  await world.settle(1);
  expect(world.compute(0).status.deletionPolicy).toBe("Delete");
  world.remove(0);
  await world.clock.advance(60_000);
  expect([world.isGone(0), world.endpoints]).toEqual([true, []]);
});

it("a Compute that adopted its endpoint is let go while the service cannot be reached, and one with Delete is not", async () => {
  await using world = inherited();
  const id = onlyID(world);
  await world.clock.advance(10_000);
  world.declare(0, { ...place, adopt: { endpointID: id } });
  world.declare(1, { ...place, type: "read_only" });
  await world.settle(2);
  world.host.service.setFaults([{ kind: "503", method: "*", route: "*" }]);
  await world.clock.advance(120_000);
  for (const index of [0, 1]) world.remove(index);
  await world.clock.advance(60_000);
  expect([0, 1].map((index) => world.isGone(index))).toEqual([true, false]);
});
