import { expect, it } from "vitest";
import { isReady } from "../support/is-ready.ts";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

const connections = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections";
const branch = { projectID: "shop", branchID: "br-0-a" };

it("a loser hears at once when the winner's connection is led to another service", async () => {
  await using world = new SmallWorld([branch.branchID], 1);
  const base = world.send("GET", `${connections}/default`);
  const { resourceVersion: _, uid: __, ...metadata } = { ...base.metadata, name: "other" };
  world.send("POST", connections, { ...base, metadata });
  // It came first, and claims the branch though nothing is made for it.
  const refusal = { status: 400, headers: {}, body: JSON.stringify({ code: "", message: "beyond your plan" }) };
  world.host.instead = ({ method }) => (method === "POST" ? refusal : undefined);
  world.declare(0, { ...branch, connectionRef: { name: "other" } });
  await world.clock.advance(5000);
  world.declare(1, branch);
  await world.clock.advance(120_000);
  expect(said(world.compute(1))).toContain("Compute default/db-0 claims");
  world.host.instead = undefined;

  const other = world.send("GET", `${connections}/other`);
  world.send("PUT", `${connections}/other`, {
    ...other,
    spec: { ...other.spec, baseURL: "http://elsewhere.test/api/v2" },
  });
  await world.clock.advance(10_000);
  expect(isReady(world.compute(1))).toBe(true);
});

it("a copy whose link is another's gets an endpoint of its own once the annotation is removed, as its message says", async () => {
  await using world = new SmallWorld(["br-0-a", "br-1-a"], 1);
  world.declare(0, branch);
  await world.settle(1);
  world.declare(1, { ...branch, branchID: "br-1-a" });
  world.annotate(1, "endpoint-id", world.compute(0).status.endpointID);
  await world.clock.advance(60_000);
  expect(said(world.compute(1))).toContain("remove the annotation compute-operator.dev/endpoint-id");
  expect(world.compute(1).status.host).toBeUndefined();
  world.annotate(1, "endpoint-id", undefined);
  await world.settle(2);
  expect(world.endpoints).toHaveLength(2);
});
