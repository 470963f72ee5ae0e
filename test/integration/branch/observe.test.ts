import { expect, it } from "vitest";
import { BranchWorld } from "./branches.ts";

const never = { expiry: { never: true } };
const observe = { ...never, managementPolicy: "Observe" };

function verdicts(world: BranchWorld) {
  const { conditions = [] } = world.object("pr-1").status;
  return conditions.map(({ type, status, reason }) => [type, status, reason].join(" "));
}

it.each([
  ["by its id", (id: string) => ({ branchID: id })],
  ["by its name", () => ({ byName: true })],
])("a Branch that only observes shows what adopt names %s, and is gone at once", async (_, adopt) => {
  await using world = new BranchWorld();
  const theirs = world.madeElsewhere("preview/pr-1");
  world.branch("pr-1", { ...observe, adopt: adopt(theirs.id), branchName: "preview/pr-1", protected: true });
  await world.until("pr-1", "Observed");
  expect(verdicts(world)).toEqual(["Ready True Observed", "Synced False Observed"]);
  const { metadata, status } = world.object("pr-1");
  expect(status).toMatchObject({ branchID: theirs.id, branchName: "preview/pr-1", deletionPolicy: "Retain" });
  expect([status.proof, metadata.finalizers]).toEqual([undefined, undefined]);
  expect(world.ready("pr-1")?.message).toContain("Manage would change protected (ours true, theirs false)");
  world.mark("pr-1", { resetAt: "now" });
  world.console("PATCH", `/projects/shop/branches/${theirs.id}`, { branch: { protected: true } });
  await world.clock.advance(3_600_000);
  expect(verdicts(world)).toEqual(["Ready True Observed", "Synced True Observed"]);
  world.drop("pr-1");
  expect(world.isDropped("pr-1")).toBe(true);
  await world.clock.advance(60_000);
  expect([world.writes, world.made.map(({ id }) => id)]).toEqual([[], [theirs.id]]);
});

it("a Branch that only observes refuses what is not there, and shows nothing of one that has gone", async () => {
  await using world = new BranchWorld();
  world.branch("pr-1", { ...observe, adopt: { byName: true } });
  await world.until("pr-1", "AdoptionRefused");
  const theirs = world.madeElsewhere("default/pr-1");
  await world.until("pr-1", "Observed");
  world.console("DELETE", `/projects/shop/branches/${theirs.id}`);
  await world.until("pr-1", "AdoptionRefused");
  const { branchID, branchName, state } = world.object("pr-1").status;
  expect([branchID, branchName, state]).toEqual([undefined, undefined, "NotCreated"]);
  expect(world.writes).toEqual([]);
});

it("a Branch that only observes claims nothing: another creates, or adopts, the same branch", async () => {
  await using world = new BranchWorld();
  const theirs = world.madeElsewhere("theirs");
  world.branch("pr-1", { ...observe, adopt: { branchID: theirs.id } });
  world.branch("pr-2", { ...observe, branchName: "ours", adopt: { byName: true } });
  await world.until("pr-1", "Observed");
  world.branch("pr-3", { ...never, adopt: { branchID: theirs.id } });
  world.branch("pr-4", { ...never, branchName: "ours" });
  for (const name of ["pr-3", "pr-4"]) await world.until(name, "Available");
  await world.until("pr-2", "Observed");
  expect(world.object("pr-2").status.branchID).toBe(world.object("pr-4").status.branchID);
  expect(world.writes).toEqual(["POST /projects/shop/branches"]);
});

it("the Compute of a Branch that only observes does so too, and one that names the Branch is made on it", async () => {
  await using world = new BranchWorld();
  const theirs = world.madeElsewhere("theirs");
  const compute = { adopt: { branchPrimary: true } };
  world.branch("pr-1", { ...observe, adopt: { branchID: theirs.id }, compute });
  await world.until("pr-1", "Observed");
  await world.clock.advance(10_000);
  const path = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computes/pr-1";
  expect(world.send("GET", path).spec).toMatchObject({ managementPolicy: "Observe", branchRef: { name: "pr-1" } });
  expect(world.send("GET", path).status.conditions[0]).toMatchObject({ reason: "AdoptionRefused" });
  expect(world.writes).toEqual([]);
  world.declare(0, { projectID: "shop", branchRef: { name: "pr-1" } });
  await world.settle(1);
  await world.clock.advance(60_000);
  expect(world.send("GET", path).status).toMatchObject({ endpointID: world.compute(0).status.endpointID });
  expect(world.writes).toEqual(["POST /projects/shop/endpoints"]);
});
