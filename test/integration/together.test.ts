import { expect, test } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const place = { projectID: "shop", branchID: "br-0-a" };
const connections = "/apis/compute-operator.dev/v1alpha1/namespaces/default/serviceconnections";

test("a Compute that is made a moment before its connection, as kubectl apply -k does, reports no trouble", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  await world.clock.advance(1000);
  const { apiVersion, kind, spec } = world.send("GET", `${connections}/default`);
  world.declare(0, { ...place, connectionRef: { name: "late" } });
  await world.clock.advance(500);
  world.send("POST", connections, { apiVersion, kind, metadata: { name: "late" }, spec });
  await world.settle(1);
  expect(world.events("ConnectionNotFound")).toEqual([]);
});

test("a Compute without a connection says so after two seconds", async () => {
  await using world = new SmallWorld([place.branchID], 1);
  world.declare(0, { ...place, connectionRef: { name: "nowhere" } });
  await world.clock.advance(2500);
  expect(world.compute(0).status.conditions?.[0]?.reason).toBe("ConnectionNotFound");
  expect(world.timesEmitted("ConnectionNotFound")).toBe(1);
});
