import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CountedRequest } from "../support/counting-proxy.ts";
import { compute } from "./manifests.ts";
import { sharedCluster } from "./shared-cluster.ts";
import { World } from "./world.ts";

let world: World;
beforeAll(async () => {
  world = await World.start({ cluster: sharedCluster() });
});
afterAll(() => world[Symbol.asyncDispose]());

/** Does something and answers with every write that reached the service, from its begin to well after its end. */
async function writesDuring(work: () => Promise<void>): Promise<string[]> {
  world.counter.clear();
  await work();
  await twoMoreLists();
  return world.counter.writes.map(short);
}

/** A second write would follow a list that does not show the first. */
async function twoMoreLists(): Promise<void> {
  const seen = world.counter.reads.length;
  await new Promise<void>((resolve) => {
    const stop = world.counter.onRequest(() => {
      if (world.counter.reads.length < seen + 2) return;
      stop();
      resolve();
    });
  });
}

function short({ method, path, status }: CountedRequest): string {
  return `${method} ${path.replace(/ep-[a-z0-9-]+/, "EP")} ${status}`;
}

const manifest = (computeUnits: { min: number; max: number }) =>
  compute("shop", { projectID: "shop", branchID: "br-main", computeUnits });

describe("one Compute through its life costs exactly one write for", () => {
  it("its creation", async () => {
    const writes = await writesDuring(async () => {
      await world.apply(manifest({ min: 0.25, max: 2 }));
      await world.waitForReady("compute/shop");
    });
    expect(writes).toEqual(["POST /api/v2/projects/shop/endpoints 201"]);
    const [endpoint] = await world.endpoints();
    const { metadata, status } = await world.compute("shop");
    expect(status).toMatchObject({ endpointID: endpoint?.id, size: "0.25–2 CU", state: "Active" });
    expect(endpoint).toMatchObject({ name: `k8s-${metadata.uid}`, branch_id: "br-main", type: "read_write" });
  });

  it("its resize", async () => {
    const writes = await writesDuring(async () => {
      await world.apply(manifest({ min: 4, max: 4 }));
      await world.waitForField("compute/shop", "{.status.size}", "4 CU");
      await world.waitForReady("compute/shop");
    });
    expect(writes).toEqual(["PATCH /api/v2/projects/shop/endpoints/EP 200"]);
  });

  it("its restart", async () => {
    const writes = await writesDuring(async () => {
      await world.kubectl("annotate", "compute/shop", "compute-operator.dev/restartedAt=once");
      await world.waitForField("compute/shop", "{.status.restartedAt}", "once");
      await world.waitForReady("compute/shop");
    });
    expect(writes).toEqual(["POST /api/v2/projects/shop/endpoints/EP/restart 200"]);
  });

  it("a change behind the operator's back, which is put right", async () => {
    const [{ id } = { id: "" }] = await world.endpoints();
    const writes = await writesDuring(async () => {
      const endpoint = { autoscaling_limit_min_cu: 1, autoscaling_limit_max_cu: 1 };
      await world.service.call("PATCH", `/projects/shop/endpoints/${id}`, { endpoint });
      await twoMoreLists();
      await world.waitForReady("compute/shop");
    });
    expect(writes).toEqual(["PATCH /api/v2/projects/shop/endpoints/EP 200"]);
    expect(await world.endpoints()).toMatchObject([{ id, autoscaling_limit_max_cu: 4 }]);
    await expect.poll(() => world.kubectl("events", "--for", "compute/shop")).toContain("DriftCorrected");
  });

  it("its deletion", async () => {
    const writes = await writesDuring(async () => {
      await world.apply(compute("other", { projectID: "shop", branchID: "br-preview" }));
      await world.waitForReady("compute/other");
      world.counter.clear();
      await world.kubectl("delete", "compute/shop", "--timeout=60s");
    });
    expect(writes).toEqual(["DELETE /api/v2/projects/shop/endpoints/EP 200"]);
    expect(await world.endpoints()).toMatchObject([{ branch_id: "br-preview" }]);
  });
});
