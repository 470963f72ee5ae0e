import { expect, it } from "vitest";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

const connections = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections";
const branch = { projectID: "shop", branchID: "br-0-a" };

it("a loser hears at once when the winner's connection is led to another service", async () => {
  await using world = new SmallWorld([branch.branchID], 1);
  // It came first, and has no key to get anywhere with.
  const claims = world.send("GET", `${connections}/default`);
  const spec = { ...claims.spec, apiKeySecretRef: { name: "nowhere" } };
  const { resourceVersion: _, uid: __, ...metadata } = { ...claims.metadata, name: "other" };
  world.send("POST", connections, { ...claims, metadata, spec });
  world.declare(0, { ...branch, connectionRef: { name: "other" } });
  await world.clock.advance(5000);
  world.declare(1, branch);
  await world.clock.advance(120_000);
  expect(said(world.compute(1))).toContain("Compute default/db-0 has the better claim");

  const other = world.send("GET", `${connections}/other`);
  world.send("PUT", `${connections}/other`, {
    ...other,
    spec: { ...other.spec, baseURL: "http://elsewhere.test/api/v2" },
  });
  await world.clock.advance(10_000);
  expect(world.compute(1).status.state).toBe("Active");
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
