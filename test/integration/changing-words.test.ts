import { expect, it } from "vitest";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

// A service that puts a time, a counter or the id of the request into each of its messages.

const place = { projectID: "shop", branchID: "br-0-a", type: "read_only", scaleToZero: { enabled: false } };
const fleet = 5;

async function settled(): Promise<SmallWorld> {
  const world = new SmallWorld([place.branchID], 1);
  for (let one = 0; one < fleet; one += 1) world.declare(one, place);
  await world.settle(fleet);
  await world.clock.advance(60_000);
  return world;
}

/** Refuses these requests from now on, each in other words. */
function refuse(world: SmallWorld, status: number, methods: readonly string[]): void {
  let count = 0;
  world.host.instead = ({ method }) => {
    if (!methods.includes(method)) return undefined;
    count += 1;
    const message = `not now: request ${count} at 12:00:${count}`;
    return { status, headers: {}, body: JSON.stringify({ code: "", message }) };
  };
}

it.each([400, 401, 403, 404, 423, 429, 503])(
  "a service that refuses lists with %i and ever other words has no status written again",
  async (status) => {
    await using world = await settled();
    refuse(world, status, ["GET"]);
    await world.clock.advance(700_000);
    expect(said(world.compute(0))).toContain("not now: request");
    const { versions } = world;
    await world.clock.advance(600_000);
    expect(world.versions).toEqual(versions);
  },
);

it.each([400, 423, 429])(
  "a service that refuses writes with %i and ever other words has no status written again",
  async (status) => {
    await using world = await settled();
    refuse(world, status, ["PATCH"]);
    world.edit(0, { passwordlessAccess: false });
    await world.clock.advance(300_000);
    expect(said(world.compute(0))).toContain("not now: request");
    const { versions, writes } = world;
    await world.clock.advance(1_200_000);
    expect(world.writes.length).toBeGreaterThan(writes.length);
    expect(world.versions).toEqual(versions);
  },
);
