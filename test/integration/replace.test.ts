import { describe, expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";
import type { Spec } from "./support/specs.ts";

const place = { projectID: "shop", branchID: "br-0-a" };
const create = "POST /projects/shop/endpoints";
const strict = { strictSpec: true };

it("a finalizer that kubectl replace drops is put back with its proof where the service shows no names: deleted later, the endpoint goes", async () => {
  await using world = new SmallWorld([place.branchID], 1, strict);
  world.declare(0, place);
  await world.settle(1);
  const { endpointID } = world.compute(0).status;
  world.replace(0, place);
  await world.clock.advance(1000);
  world.remove(0);
  await world.clock.advance(60_000);
  expect(world.isGone(0)).toBe(true);
  expect(world.endpoints).toEqual([]);
  expect(world.writes).toEqual([create, `DELETE /projects/shop/endpoints/${endpointID}`]);
});

it.each([
  ["for so short a time that nothing is reported", 40_000, "Idle"],
  ["for long", 120_000, "ServiceUnavailable"],
])(
  "a finalizer is put back while the service cannot be reached too (%s), so that a deletion waits for it",
  async (_, ms, says) => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, place);
    await world.settle(1);
    world.host.service.setFaults([{ kind: "503", method: "*", route: "*" }]);
    await world.clock.advance(ms);
    expect(world.compute(0).status.conditions?.[0]?.reason).toBe(says);
    world.replace(0, place);
    await world.clock.advance(1000);
    world.remove(0);
    await world.clock.advance(10_000);
    const said = world.compute(0).status.conditions?.[0];
    expect([said?.reason, said?.message.startsWith("Deletion waits")]).toEqual(["ServiceUnavailable", true]);
    await world.clock.advance(60_000);
    expect(world.isGone(0)).toBe(false);
    world.host.service.setFaults([]);
    await world.clock.advance(120_000);
    expect(world.isGone(0)).toBe(true);
    expect(world.endpoints).toEqual([]);
  },
);

it("a replace does not drop the knowledge of a POST's answer: no other is sent where the service shows no names", async () => {
  await using world = new SmallWorld([place.branchID], 1, strict);
  let replaced = false;
  world.host.instead = ({ method }) => {
    if (method === "POST" && !replaced) {
      replaced = true;
      world.replace(0, { ...place, type: "read_only" });
    }
    return undefined;
  };
  world.declare(0, { ...place, type: "read_only" });
  await world.settle(1);
  expect(world.writes).toEqual([create]);
  expect(world.endpoints.map(({ id }) => id)).toEqual([world.compute(0).status.endpointID]);
});

describe("a Compute that is replaced and deleted at once, before its finalizer can be put back", () => {
  const replica = { ...place, type: "read_only" };

  /** Does something while the first POST is on its way. */
  function duringPost(world: SmallWorld, execute: () => void): void {
    let done = false;
    world.host.instead = ({ method }) => {
      if (method === "POST" && !done) {
        done = true;
        execute();
      }
      return undefined;
    };
  }
  const vanish = (world: SmallWorld, spec: Spec) => () => {
    world.replace(0, spec);
    world.remove(0);
  };

  it("leaves its endpoint, with a Warning that names it", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, replica);
    await world.settle(1);
    const { endpointID } = world.compute(0).status;
    vanish(world, replica)();
    await world.clock.advance(120_000);
    expect([world.isGone(0), world.endpoints.map(({ id }) => id)]).toEqual([true, [endpointID]]);
    expect(world.events("Released")).toEqual([expect.stringContaining(`its endpoint ${endpointID} is kept.`)]);
    expect(world.writes).toEqual([create]);
  });

  it.each([
    ["was on its way", undefined],
    ["a lost reply was about", "drop-after"],
  ] as const)("leaves the endpoint that %s, with a Warning that names what it bears", async (_, kind) => {
    await using world = new SmallWorld([place.branchID], 1);
    if (kind !== undefined) world.host.service.setFaults([{ kind, method: "POST", route: "*", count: 1 }]);
    duringPost(world, vanish(world, replica));
    world.declare(0, replica);
    await world.clock.advance(120_000);
    expect([world.isGone(0), world.endpoints.length, world.writes]).toEqual([true, 1, [create]]);
    expect(world.events("Released")).toEqual([
      expect.stringContaining(`its endpoint ${world.endpoints[0]?.name} is kept.`),
    ]);
  });

  it("says nothing where the manifest says Retain", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    duringPost(world, () => vanish(world, { ...replica, deletionPolicy: "Retain" })());
    world.declare(0, replica);
    await world.clock.advance(120_000);
    expect([world.isGone(0), world.writes, world.events("Released")]).toEqual([true, [create], []]);
  });
});

it("an adopted primary is deleted with its Compute also if its move was requested just before", async () => {
  await using world = new SmallWorld([place.branchID, "br-0-b"], 1);
  const made = world.console("POST", "/projects/shop/endpoints", {
    endpoint: { branch_id: place.branchID, type: "read_write" },
  });
  await world.clock.advance(10_000);
  const adopting = { ...place, adopt: { branchPrimary: true }, deletionPolicy: "Delete" };
  world.declare(0, adopting);
  await world.settle(1);
  // Somebody else's change keeps the project busy, so that the move is not sent yet.
  world.host.service.setFaults([{ kind: "423", method: "PATCH", route: "*" }]);
  world.declare(0, { ...adopting, branchID: "br-0-b" });
  await world.clock.advance(3000);
  world.remove(0);
  await world.clock.advance(60_000);
  expect(world.isGone(0)).toBe(true);
  expect(world.endpoints).toEqual([]);
  expect(world.writes.at(-1)).toBe(`DELETE /projects/shop/endpoints/${made.endpoint.id}`);
});
