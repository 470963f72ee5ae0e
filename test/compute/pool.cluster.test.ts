import { afterAll, beforeAll, expect, it } from "vitest";
import { kubectl } from "../control-plane/cluster.ts";
import { eventually } from "../support/eventually.ts";
import type { Scenario } from "./support/scenario.ts";
import { main, project } from "./support/seeded-service.ts";
import { Stage } from "./support/stage.ts";

let stage: Stage;
beforeAll(() => {
  stage = new Stage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const pool = (replicas: number, template: Record<string, unknown> = {}) => ({
  apiVersion: "compute-operator.dev/v1alpha1",
  kind: "ComputePool",
  metadata: { name: "readers" },
  spec: { replicas, template: { projectID: project, branchID: main, ...template } },
});

const scaleTo = (shop: Scenario, replicas: number) =>
  kubectl(["--namespace", shop.namespace, "scale", "computepool/readers", `--replicas=${replicas}`]);

async function settlesAt(shop: Scenario, replicas: number): Promise<void> {
  await eventually(`${replicas} ready replicas`, async () => {
    const { status } = await shop.cluster.get("ComputePool", shop.namespace, "readers");
    return status?.["replicas"] === replicas && status["readyReplicas"] === replicas ? true : undefined;
  });
}

it.concurrent("a pool follows kubectl scale, shrinks from the highest, and carries its template to each", async () => {
  const shop = await stage.scenario();
  await shop.cluster.create("ComputePool", shop.namespace, pool(2, { connectionSecret: { name: "reader" } }));
  await settlesAt(shop, 2);
  expect(shop.endpoints.map(({ type }) => type)).toEqual(["read_only", "read_only"]);
  await scaleTo(shop, 3);
  await settlesAt(shop, 3);
  expect((await shop.ready("readers-2")).status.binding).toEqual({ name: "reader-2" });
  await scaleTo(shop, 1);
  await Promise.all(["readers-1", "readers-2"].map((name) => shop.gone(name)));
  await settlesAt(shop, 1);
  expect(shop.endpoints).toHaveLength(1);
  await shop.cluster.modify("ComputePool", shop.namespace, "readers", (object) => {
    object.spec = pool(1, { computeUnits: { min: 2, max: 2 } }).spec;
  });
  await shop.until("readers-0", "its size", ({ status }) => status.size === "2 CU");
  const { status } = await shop.cluster.get("ComputePool", shop.namespace, "readers");
  expect(status?.["selector"]).toBe("compute-operator.dev/pool=readers");
});

it.concurrent("a pool that is deleted takes its Computes with it, and they their endpoints", async () => {
  const shop = await stage.scenario();
  await shop.cluster.create("ComputePool", shop.namespace, pool(2));
  await settlesAt(shop, 2);
  await shop.cluster.delete("ComputePool", shop.namespace, "readers");
  await Promise.all(["readers-0", "readers-1"].map((name) => shop.gone(name)));
  expect(shop.endpoints).toEqual([]);
});
