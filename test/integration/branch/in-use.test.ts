import { describe, expect, it } from "vitest";
import { BranchWorld } from "./branches.ts";

const minute = 60_000;
const onBranch = { projectID: "shop", branchRef: { name: "pr-1" } };
const onOther = { ...onBranch, branchRef: { name: "pr-2" } };

/** Two Branches that are there, and a Compute on the first; the id of its endpoint. */
async function twoBranches(world: BranchWorld): Promise<string | undefined> {
  world.branch("pr-1");
  world.branch("pr-2");
  await world.until("pr-2", "Available");
  world.declare(0, onBranch);
  await world.settle(1);
  await world.clock.advance(40_000);
  return world.compute(0).status.endpointID;
}

/** The service carries out requests of this method at once, and answers them this much later. */
function answersLate(world: BranchWorld, method: string, ms: number): void {
  const send = world.network.send.bind(world.network);
  world.network.send = async (request, options) => {
    const answer = await send(request, options);
    if (request.method === method) await new Promise<void>((resolve) => world.clock.after(ms, resolve));
    return answer;
  };
}

/** The endpoints at the service, each with the name of its branch. */
function places(world: BranchWorld): [id: string, branch: string | undefined][] {
  const nameOf = (id: string) => world.made.find((branch) => branch.id === id)?.name;
  return world.endpoints.map(({ id, branch_id }) => [id, nameOf(branch_id)]);
}

describe("a Branch that is deleted keeps its branch", () => {
  it.each([500, 2500])("while a move to it that was taken back after %s ms is unanswered", async (ms) => {
    await using world = new BranchWorld();
    const endpointID = await twoBranches(world);
    answersLate(world, "PATCH", 3000);
    world.declare(0, onOther);
    await world.clock.advance(ms);
    world.declare(0, onBranch);
    world.drop("pr-2");
    await world.until("pr-2", "InUse");
    await world.untilDropped("pr-2");
    expect(places(world)).toEqual([[endpointID, "default/pr-1"]]);
  });

  it("until a move to it whose request was lost can no longer be carried out, and goes then", async () => {
    await using world = new BranchWorld();
    const endpointID = await twoBranches(world);
    world.host.service.setFaults([{ method: "PATCH", route: "*", kind: "drop-before", count: 1 }]);
    world.declare(0, onOther);
    await world.clock.advance(1000);
    world.declare(0, onBranch);
    world.drop("pr-2");
    await world.clock.advance(minute);
    expect([world.reason("pr-2"), world.made.length]).toEqual(["InUse", 2]);
    await world.untilDropped("pr-2", 40_000);
    expect(places(world)).toEqual([[endpointID, "default/pr-1"]]);
  });

  it("while a create on it is unanswered, and its endpoint moves to the Branch that the Compute names by then", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1");
    world.branch("pr-2");
    await world.until("pr-2", "Available");
    answersLate(world, "POST", 3000);
    world.declare(0, onBranch);
    await world.clock.advance(1000);
    const made = world.endpoints.map(({ id }) => id);
    world.declare(0, onOther);
    world.drop("pr-1");
    await world.untilDropped("pr-1");
    expect([made.length, places(world)]).toEqual([1, [[made[0], "default/pr-2"]]]);
  });

  it("while a Compute that goes to another Branch through another connection still stands on it", async () => {
    await using world = new BranchWorld();
    const connections = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections";
    const { apiVersion, kind, spec } = world.send("GET", `${connections}/default`);
    world.send("POST", connections, { apiVersion, kind, metadata: { name: "second" }, spec });
    world.branch("pr-1");
    world.declare(0, onBranch);
    await world.settle(1);
    const { endpointID } = world.compute(0).status;
    const connectionRef = { name: "second" };
    world.branch("pr-2", { connectionRef, parent: { branchName: "absent" } });
    world.declare(0, { ...onOther, connectionRef });
    world.drop("pr-1");
    await world.until("pr-1", "InUse");
    world.madeElsewhere("absent");
    await world.untilDropped("pr-1");
    expect(places(world)).toContainEqual([endpointID, "default/pr-2"]);
  });

  it("while a Compute on it is paused, whose own deletion waits, until both go", async () => {
    await using world = new BranchWorld();
    world.branch("pr-1");
    world.declare(0, onBranch);
    await world.settle(1);
    world.annotate(0, "paused", "true");
    world.remove(0);
    await world.clock.advance(5000);
    world.drop("pr-1");
    await world.until("pr-1", "InUse");
    expect(world.ready("pr-1")?.message).toContain("db-0");
    await world.clock.advance(10 * minute);
    expect([world.reason("pr-1"), world.endpoints.length]).toEqual(["InUse", 1]);
    world.annotate(0, "paused", "false");
    // The end of the Compute wakes the Branch, whose own next attempt is up to five minutes away.
    await world.untilDropped("pr-1", minute);
    expect([world.isGone(0), world.made, world.endpoints]).toEqual([true, [], []]);
  });
});
