import { describe, expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a" };
const create = "POST /projects/shop/endpoints";
const strict = { strictSpec: true };

describe("what kubectl replace drops", () => {
  it("is put back with its proof where the service shows no names: deleted later, the endpoint goes", async () => {
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

  it("is put back while the service cannot be reached too, so that a deletion waits for it", async () => {
    await using world = new SmallWorld([place.branchID], 1);
    world.declare(0, place);
    await world.settle(1);
    world.host.service.setFaults([{ kind: "503", method: "*", route: "*" }]);
    await world.clock.advance(60_000);
    expect(world.compute(0).status.conditions?.[0]?.reason).toBe("ServiceUnavailable");
    world.replace(0, place);
    await world.clock.advance(1000);
    world.remove(0);
    await world.clock.advance(60_000);
    expect(world.isGone(0)).toBe(false);
    world.host.service.setFaults([]);
    await world.clock.advance(120_000);
    expect(world.isGone(0)).toBe(true);
    expect(world.endpoints).toEqual([]);
  });

  it("is not the knowledge of a POST's answer: no other is sent where the service shows no names", async () => {
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
});

it("an adopted primary is deleted with its Compute also when that was just told to move it", async () => {
  await using world = new SmallWorld([place.branchID, "br-0-b"], 1);
  const made = world.console("POST", "/projects/shop/endpoints", {
    endpoint: { branch_id: place.branchID, type: "read_write" },
  });
  await world.clock.advance(10_000);
  const adopting = { ...place, adopt: { branchPrimary: true } };
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
