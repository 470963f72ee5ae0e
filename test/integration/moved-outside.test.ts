import { describe, expect, it } from "vitest";
import { conditionOf } from "../../src/operator/objects/conditions-of.ts";
import { a, b, begin, branchOf, named, rename, spec } from "./support/named-branches.ts";
import type { SmallWorld } from "./support/small-world.ts";

/** Somebody moves the endpoint at the service. */
function move(world: SmallWorld, branchID: string): void {
  const { endpointID } = world.compute(0).status;
  world.console("PATCH", `/projects/shop/endpoints/${endpointID}`, { endpoint: { branch_id: branchID } });
}

const reason = (world: SmallWorld) => conditionOf(world.compute(0).status, "Ready")?.reason;
const moves = (world: SmallWorld) => world.writes.filter((write) => write.startsWith("PATCH")).length;

async function onBranch(fields: object = {}): Promise<SmallWorld> {
  const world = begin();
  world.declare(0, { ...spec, branchID: a, ...fields });
  await world.settle(1);
  await world.clock.advance(60_000);
  return world;
}

describe("an endpoint that somebody moves to another branch", () => {
  it("stays there: the Compute is stalled until its spec names that branch", async () => {
    await using world = await onBranch();
    move(world, b);
    await world.clock.advance(120_000);
    expect([reason(world), branchOf(world), moves(world)]).toEqual(["MovedOutside", b, 0]);
    expect(conditionOf(world.compute(0).status, "Stalled")?.status).toBe("True");
    await world.restart();
    await world.clock.advance(120_000);
    expect([reason(world), branchOf(world), moves(world)]).toEqual(["MovedOutside", b, 0]);
    expect(world.timesEmitted("MovedOutside")).toBe(1);
    world.edit(0, { branchID: b });
    await world.settle(1);
    expect([branchOf(world), moves(world)]).toEqual([b, 0]);
  });

  it("an endpoint that somebody moves is moved back with branchDrift: Correct, and an event says so", async () => {
    await using world = await onBranch({ branchDrift: "Correct" });
    move(world, b);
    await world.clock.advance(60_000);
    await world.settle(1);
    expect([branchOf(world), moves(world)]).toEqual([a, 1]);
    expect(world.events("DriftCorrected")).toEqual([expect.stringContaining("branchID")]);
  });

  it("keeps nobody from the branch that it left, and takes none from the one where it is", async () => {
    await using world = await onBranch();
    move(world, b);
    await world.clock.advance(60_000);
    world.declare(1, { ...spec, branchID: b });
    await world.clock.advance(60_000);
    expect(conditionOf(world.compute(1).status, "Ready")).toMatchObject({
      reason: "Conflict",
      message: expect.stringContaining("default/db-0"),
    });
    expect(moves(world)).toBe(0);
  });
});

it.each([{}, { branchDrift: "Correct" }])(
  "a restore that moves name and endpoint to another branch is not undone on the word of an older list of branches (%o)",
  async (fields) => {
    await using world = begin();
    rename(world, a, "main");
    world.declare(0, named("main", fields));
    await world.settle(1);
    await world.clock.advance(45_000);
    rename(world, a, "main-before");
    rename(world, b, "main");
    move(world, b);
    // A list of endpoints is made at once, and branches were listed before.
    world.annotate(0, "reconcileRequestedAt", "now");
    await world.clock.advance(60_000);
    await world.settle(1);
    expect([branchOf(world), moves(world), world.compute(0).status.branchID]).toEqual([b, 0, b]);
    expect([world.timesEmitted("MovedOutside"), world.timesEmitted("DriftCorrected")]).toEqual([0, 0]);
  },
);
