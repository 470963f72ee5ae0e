import { expect, it } from "vitest";
import { a, b, begin, branchesListed, branchOf, hand, named, onMain, ready, rename } from "./support/named-branches.ts";

it("a name that comes to be another branch's is followed with driftPolicy Correct, once two lists ten seconds apart agree, and an event tells why", async () => {
  await using world = begin();
  await onMain(world);
  hand(world);
  const listed = branchesListed(world);
  while (branchesListed(world) < listed + 1) await world.clock.advance(1000);
  await world.clock.advance(20_000);
  expect([branchOf(world), world.writes.length]).toEqual([a, 1]);
  await world.clock.advance(20_000);
  expect(world.writes.slice(1)).toHaveLength(1);
  expect(branchOf(world)).toBe(b);
  expect(world.events("Moving")).toEqual([
    'The branch named "main" was br-0-a and is br-0-b now. The endpoint is moved there because driftPolicy is Correct.',
  ]);
  await world.settle(1);
  expect(world.compute(0).status).toMatchObject({ branchID: b, resolvedBranch: { name: "main", id: b } });
});

it("a name that comes to be another branch's is reported with driftPolicy Report, and only other edits of the manifest are sent", async () => {
  await using world = begin();
  await onMain(world, { driftPolicy: "Report" });
  hand(world);
  await world.clock.advance(120_000);
  expect(ready(world)).toMatchObject({ status: "True", reason: "Drifted" });
  expect(ready(world)?.message).toContain("branchName: theirs br-0-a, ours main (br-0-b)");
  expect(world.timesEmitted("Drifted")).toBe(1);
  world.declare(0, named("main", { driftPolicy: "Report", computeUnits: { min: 2, max: 2 } }));
  await world.clock.advance(60_000);
  expect(world.writes.slice(1)).toHaveLength(1);
  expect(world.endpoint(world.compute(0).status.endpointID)).toMatchObject({
    branch_id: a,
    autoscaling_limit_max_cu: 2,
  });
  expect(ready(world)).toMatchObject({ reason: "Drifted" });
  expect(world.compute(0).status.branchID).toBe(a);
});

it("a name is not followed on the word of a single list, as of a replica that lags behind", async () => {
  await using world = begin();
  await onMain(world);
  let lies = true;
  world.host.instead = ({ path }) => {
    if (!path.endsWith("/branches") || !lies) return undefined;
    lies = false;
    return { status: 200, headers: {}, body: JSON.stringify({ branches: [{ id: b, name: "main" }] }) };
  };
  await world.clock.advance(180_000);
  expect(lies).toBe(false);
  expect(world.writes).toHaveLength(1);
  expect(world.timesEmitted("Moving")).toBe(0);
});

it("a name that no branch has any more is BranchNotFound; other changes are sent, and it ends with the name's return", async () => {
  await using world = begin();
  await onMain(world);
  rename(world, a, "old main");
  await world.clock.advance(90_000);
  expect(ready(world)).toMatchObject({ reason: "BranchNotFound" });
  expect(ready(world)?.message).toContain("so the endpoint stays on branch br-0-a");
  world.edit(0, { computeUnits: { min: 2, max: 2 } });
  await world.clock.advance(30_000);
  expect(world.writes.slice(1)).toHaveLength(1);
  // A new process says the same from the start.
  await world.restart();
  await world.clock.advance(5000);
  expect(ready(world)).toMatchObject({ reason: "BranchNotFound" });
  rename(world, a, "main");
  await world.clock.advance(40_000);
  expect(ready(world)).toMatchObject({ status: "True" });
  expect(world.writes).toHaveLength(2);
});

it("a branch that was deleted and made again under its name leads to one endpoint on the new one", async () => {
  await using world = begin();
  rename(world, b, "main");
  world.declare(0, named("main"));
  await world.settle(1);
  world.console("DELETE", `/projects/shop/branches/${b}`);
  const made = world.console("POST", "/projects/shop/branches", { branch: { name: "main" } });
  await world.clock.advance(10_000);
  await world.clock.advance(180_000);
  expect(ready(world)).toMatchObject({ status: "True" });
  expect(branchOf(world)).toBe(made.branch.id);
  expect(world.writes.filter((write) => write.startsWith("POST"))).toHaveLength(2);
  expect(world.endpoints).toHaveLength(1);
});

it("two Computes whose branches swap names are a Conflict, and neither is moved", async () => {
  await using world = begin();
  rename(world, a, "one");
  rename(world, b, "two");
  world.declare(0, named("one"));
  world.declare(1, named("two"));
  await world.settle(2);
  rename(world, a, "three");
  rename(world, b, "one");
  rename(world, a, "two");
  await world.clock.advance(180_000);
  expect([ready(world, 0)?.reason, ready(world, 1)?.reason]).toEqual(["Conflict", "Conflict"]);
  expect(world.writes.filter((write) => write.startsWith("PATCH"))).toEqual([]);
});
