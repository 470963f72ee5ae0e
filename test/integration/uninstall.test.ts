import { expect, it } from "vitest";
import { SmallWorld } from "./support/small-world.ts";

const group = "/apis/compute-operator.dev/v1alpha1/namespaces/default";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

it("where the CRD of pools is deleted, the replicas that the garbage collector then deletes are let go, and every endpoint stays", async () => {
  await using world = new SmallWorld(["br-0-a"], 1);
  world.send("POST", `${group}/computepools`, {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ComputePool",
    metadata: { name: "web" },
    spec: { replicas: 2, template: { projectID: "shop", branchID: "br-0-a" } },
  });
  await world.clock.advance(60_000);
  const before = world.endpoints.map(({ id }) => id);
  expect(before).toHaveLength(2);
  world.send("DELETE", `${definitions}/computepools.compute-operator.dev`);
  await world.clock.advance(1000);
  for (const name of ["web-0", "web-1"]) world.send("DELETE", `${group}/computes/${name}`);
  await world.clock.advance(60_000);
  expect(world.send("GET", `${group}/computes`).items).toEqual([]);
  expect(world.endpoints.map(({ id }) => id)).toEqual(before);
});
