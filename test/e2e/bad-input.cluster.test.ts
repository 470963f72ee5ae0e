import { afterAll, beforeAll, expect, it } from "vitest";
import { compute } from "./manifests.ts";
import { sharedCluster } from "./shared-cluster.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ cluster: sharedCluster() });
  await world.apply(compute("taken", { projectID: "shop", branchID: "br-main" }));
  await world.waitForReady("compute/taken");
});
afterAll(() => world[Symbol.asyncDispose]());

const onShop = (name: string, spec: Record<string, unknown>) =>
  compute(name, { projectID: "shop", branchID: "br-preview", ...spec });

it.each([
  ["a size of 17 CU", onShop("bad", { computeUnits: { min: 17, max: 17 } }), /Unsupported value: 17.*16.*18/],
  ["min over max", onShop("bad", { computeUnits: { min: 2, max: 1 } }), /min.*max/],
  ["autoscaling above 16 CU", onShop("bad", { computeUnits: { min: 8, max: 20 } }), /16/],
  ["an unknown type", onShop("bad", { type: "read_mostly" }), /"read_mostly".*"read_write", "read_only"/],
  ["another projectID", onShop("taken", { branchID: "br-main", projectID: "blog" }), /projectID is immutable/],
])(
  "kubectl apply refuses %s, says what is allowed, and the service hears nothing",
  async (_what, manifest, message) => {
    world.counter.clear();
    const { status, stderr } = await world.tryApply(manifest);
    expect(status).toBe(1);
    expect(stderr).toMatch(message);
    expect(world.counter.writes).toEqual([]);
  },
);
