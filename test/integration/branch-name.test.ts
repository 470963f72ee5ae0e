import { describe, expect, it } from "vitest";
import {
  a,
  b,
  begin,
  branchesListed,
  branchOf,
  hand,
  named,
  onMain,
  ready,
  rename,
  spec,
  withoutBranches,
} from "./support/named-branches.ts";
import { SmallWorld } from "./support/small-world.ts";

it("a branch is found by its name, and the status shows which it is", async () => {
  await using world = begin();
  await onMain(world);
  expect(world.compute(0).status).toMatchObject({ branchID: a, resolvedBranch: { name: "main", id: a } });
  expect(branchOf(world)).toBe(a);
  expect(world.writes).toEqual(["POST /projects/shop/endpoints"]);
});

it("a name without a branch is BranchNotFound and nothing is sent, until a list shows it", async () => {
  await using world = begin();
  world.declare(0, named("main"));
  await world.clock.advance(120_000);
  expect(ready(world)).toMatchObject({ status: "False", reason: "BranchNotFound" });
  expect(ready(world)?.message).toBe(
    'Project shop has no branch named "main", so no endpoint is created. Create or rename the branch, or name another in spec.branchName.',
  );
  expect(world.writes).toEqual([]);
  rename(world, a, "main");
  await world.clock.advance(32_000);
  expect(branchOf(world)).toBe(a);
});

it("a name that stands for two branches is refused, and names both", async () => {
  await using world = begin();
  world.host.instead = ({ path }) => {
    const branches = [a, b].map((id) => ({ id, name: "main" }));
    const json = { status: 200, headers: {}, body: JSON.stringify({ branches }) };
    return path.endsWith("/branches") ? json : undefined;
  };
  world.declare(0, named("main"));
  await world.clock.advance(60_000);
  expect(ready(world)).toMatchObject({ reason: "BranchNotFound" });
  expect(ready(world)?.message).toBe(
    'Project shop has more than one branch named "main" (br-0-a, br-0-b), so no endpoint is created. Rename all but one, or set spec.branchID instead.',
  );
  expect(world.writes).toEqual([]);
});

it("a branch is found on any page of the list", async () => {
  await using world = begin();
  const asked: unknown[] = [];
  world.host.instead = ({ path }) => {
    if (!path.endsWith("/branches")) return undefined;
    asked.push(path);
    const first = { branches: [{ id: b, name: "other" }], pagination: { next: "more" } };
    const second = { branches: [{ id: a, name: "main" }], pagination: {} };
    return { status: 200, headers: {}, body: JSON.stringify(asked.length % 2 === 1 ? first : second) };
  };
  world.declare(0, named("main"));
  await world.settle(1);
  expect(branchOf(world)).toBe(a);
});

it("a name is refused at a service that does not list branches: the condition says what to do", async () => {
  await using world = new SmallWorld([a], 1, { strictSpec: true });
  world.declare(0, named("br-0-a"));
  await world.clock.advance(60_000);
  expect(ready(world)).toMatchObject({ reason: "BranchNotFound" });
  expect(ready(world)?.message).toContain("Set spec.branchID instead");
  world.declare(0, { ...spec, branchID: a });
  await world.settle(1);
  expect(branchOf(world)).toBe(a);
});

it("a name in place of the id, or the other way round, moves nothing if it is the same branch", async () => {
  await using world = begin();
  await onMain(world);
  world.declare(0, { ...spec, branchID: a });
  await world.settle(1);
  expect(world.compute(0).status.resolvedBranch).toBeUndefined();
  world.declare(0, named("main"));
  await world.settle(1);
  expect(world.compute(0).status.resolvedBranch).toEqual({ name: "main", id: a });
  expect(world.writes).toHaveLength(1);
});

it("another branch's name in the manifest moves the endpoint, under Report too", async () => {
  await using world = begin();
  await onMain(world, { driftPolicy: "Report" });
  rename(world, b, "preview");
  await world.clock.advance(31_000);
  world.declare(0, named("preview", { driftPolicy: "Report" }));
  await world.settle(1);
  expect(branchOf(world)).toBe(b);
  expect(world.events("Moved")).toHaveLength(1);
});

it("a name that no branch has, after an edit, leaves the endpoint where it is", async () => {
  await using world = begin();
  await onMain(world);
  world.declare(0, named("nowhere", { computeUnits: { min: 2, max: 2 } }));
  await world.clock.advance(60_000);
  expect(ready(world)).toMatchObject({ reason: "BranchNotFound" });
  expect(ready(world)?.message).toContain(`so the endpoint stays on branch ${a}`);
  expect(world.writes).toHaveLength(1);
});

describe("a Compute with branchName is deleted, and its endpoint with it,", () => {
  it.each([
    ["although its name is no branch's any more", (world: SmallWorld) => rename(world, a, "old main")],
    ["although the branches cannot be listed", (world: SmallWorld) => void withoutBranches(world)],
    ["although the key may not list branches", (world: SmallWorld) => void withoutBranches(world, 403)],
    ["although its name is another branch's", hand],
  ])("%s", async (_, happens) => {
    await using world = begin();
    await onMain(world);
    happens(world);
    await world.clock.advance(45_000);
    world.remove(0);
    await world.clock.advance(60_000);
    expect([world.isGone(0), world.endpoints]).toEqual([true, []]);
  });

  it("a Compute is deleted by a process that has never seen a list of branches", async () => {
    await using world = begin();
    await onMain(world);
    await world.restart(() => {
      withoutBranches(world);
      world.remove(0);
    });
    const before = branchesListed(world);
    await world.clock.advance(60_000);
    expect([world.isGone(0), world.endpoints]).toEqual([true, []]);
    expect(branchesListed(world)).toBe(before);
  });

  it("a Compute that never had an endpoint is deleted at once", async () => {
    await using world = begin();
    withoutBranches(world);
    world.declare(0, named("main"));
    await world.clock.advance(20_000);
    expect(ready(world)).toMatchObject({ reason: "ServiceUnavailable" });
    world.remove(0);
    await world.clock.advance(2000);
    expect(world.isGone(0)).toBe(true);
  });
});

describe("while the branches cannot be listed", () => {
  it("what is there stays ready and takes other changes, and a new Compute says why it waits", async () => {
    await using world = begin();
    await onMain(world);
    const listsAgain = withoutBranches(world, 403);
    await world.clock.advance(120_000);
    expect(ready(world)).toMatchObject({ status: "True" });
    world.edit(0, { computeUnits: { min: 2, max: 2 } });
    world.declare(1, named("preview"));
    await world.clock.advance(30_000);
    expect(ready(world, 0)).toMatchObject({ status: "True" });
    expect(ready(world, 1)).toMatchObject({ reason: "Forbidden" });
    expect(ready(world, 1)?.message).toContain("The API key may not list the branches of project shop");
    expect(world.writes).toHaveLength(2);
    listsAgain();
    rename(world, b, "preview");
    await world.clock.advance(61_000);
    expect(branchOf(world, 1)).toBe(b);
  });
});

describe("a name that is edited away, or gone, claims no branch:", () => {
  it.each([
    ["after an edit", (world: SmallWorld) => world.edit(0, { branchName: "nowhere" })],
    ["after a rename", (world: SmallWorld) => rename(world, a, "elsewhere")],
  ])("a younger Compute gets it %s", async (_, happens) => {
    await using world = begin();
    // A primary that no Compute owns keeps the first one waiting.
    const stranger = world.console("POST", "/projects/shop/endpoints", {
      endpoint: { branch_id: a, type: "read_write" },
    });
    rename(world, a, "main");
    world.declare(0, named("main"));
    await world.clock.advance(10_000);
    expect(ready(world)).toMatchObject({ reason: "PrimaryExists" });
    expect(world.compute(0).status.branchID).toBe(a);
    happens(world);
    await world.clock.advance(45_000);
    expect(ready(world)).toMatchObject({ reason: "BranchNotFound" });
    expect(world.compute(0).status.branchID).toBeUndefined();
    world.console("DELETE", `/projects/shop/endpoints/${stranger.endpoint.id}`);
    world.declare(1, { ...spec, branchID: a });
    await world.clock.advance(120_000);
    expect(ready(world, 1)).toMatchObject({ status: "True" });
  });
});

describe("spec.adopt", () => {
  it("takes over the primary of the branch that has the name, and deletes it with the Compute", async () => {
    await using world = begin();
    const body = { endpoint: { branch_id: a, type: "read_write" } };
    const { endpoint } = world.console("POST", "/projects/shop/endpoints", body);
    rename(world, a, "main");
    await world.clock.advance(10_000);
    world.declare(0, named("main", { adopt: { branchPrimary: true }, deletionPolicy: "Delete" }));
    await world.settle(1);
    expect(world.compute(0).status.endpointID).toBe(endpoint.id);
    rename(world, a, "elsewhere");
    await world.clock.advance(45_000);
    world.remove(0);
    await world.clock.advance(60_000);
    expect([world.isGone(0), world.endpoints]).toEqual([true, []]);
  });
});

describe("a lost endpoint whose branch has another name by now", () => {
  it("keeps nobody from that branch", async () => {
    await using world = begin();
    await onMain(world);
    rename(world, a, "elsewhere");
    world.console("DELETE", `/projects/shop/endpoints/${world.compute(0).status.endpointID}`);
    await world.clock.advance(60_000);
    expect(ready(world)).toMatchObject({ reason: "BranchNotFound" });
    world.declare(1, named("elsewhere"));
    await world.clock.advance(60_000);
    expect(world.compute(1).status).toMatchObject({ branchID: a, state: "Active" });
  });

  it.each([
    ["with Report", "EndpointLost", () => ({ driftPolicy: "Report" })],
    ["adopted by its id", "AdoptionRefused", (endpointID: string) => ({ adopt: { endpointID } })],
  ])("keeps nobody from that branch where no other is made: %s", async (_, reason, fields) => {
    await using world = begin();
    await onMain(world);
    const { endpointID = "" } = world.compute(0).status;
    world.edit(0, fields(endpointID));
    rename(world, a, "elsewhere");
    world.console("DELETE", `/projects/shop/endpoints/${endpointID}`);
    await world.clock.advance(60_000);
    expect(ready(world)).toMatchObject({ reason });
    world.declare(1, named("elsewhere"));
    await world.clock.advance(60_000);
    expect(world.compute(1).status).toMatchObject({ branchID: a, state: "Active" });
    expect(ready(world)).toMatchObject({ reason });
  });
});

it("branch names cost one list of branches per refresh, and none once nobody gives a name", async () => {
  await using world = begin();
  await onMain(world);
  for (const index of [1, 2, 3]) world.declare(index, named("main", { type: "read_only" }));
  await world.settle(4);
  await world.clock.advance(35_000);
  const [lists, before] = [world.host.calls.length, branchesListed(world)];
  await world.clock.advance(300_000);
  expect(branchesListed(world) - before).toBe(10);
  expect(world.host.calls.length - lists).toBeGreaterThanOrEqual(20);
  for (const index of [0, 1, 2, 3]) world.edit(index, { branchName: undefined, branchID: a });
  await world.clock.advance(2000);
  const after = branchesListed(world);
  await world.clock.advance(300_000);
  expect(branchesListed(world)).toBe(after);
  expect(world.compute(0).status.resolvedBranch).toBeUndefined();
});
