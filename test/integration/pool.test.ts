import { expect, it } from "vitest";
import { said } from "./conditions/conditions.ts";
import { SmallWorld } from "./support/small-world.ts";

const pools = "/apis/compute-operator.dev/v1alpha1/namespaces/default/computepools";

it("a replica of a pool adopts what a person says its create made, where no names are shown, and deletes it at its end", async () => {
  await using world = new SmallWorld(["br-0-a"], 1, { strictSpec: true });
  world.host.service.setFaults([{ kind: "drop-after", method: "POST", route: "*", count: 1 }]);
  const pool = {
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ComputePool",
    metadata: { name: "db" },
    spec: { replicas: 1, template: { projectID: "shop", branchID: "br-0-a" } },
  };
  world.send("POST", pools, pool);
  await world.clock.advance(60_000);
  expect(said(world.compute(0))).toContain("Set spec.adopt.endpointID to the right one");
  const [made] = world.endpoints;
  world.edit(0, { adopt: { endpointID: made?.id } });
  await world.settle(1);
  await world.clock.advance(60_000);
  expect(world.compute(0).spec.adopt).toEqual({ endpointID: made?.id });
  world.send("PUT", `${pools}/db`, { ...world.send("GET", `${pools}/db`), spec: { ...pool.spec, replicas: 0 } });
  await world.clock.advance(120_000);
  expect([world.isGone(0), world.endpoints]).toEqual([true, []]);
});
