import { expect, it } from "vitest";
import { kubectl } from "../control-plane/shared-control-plane.ts";
import { eventually } from "../support/eventually.ts";
import type { Scenario } from "./support/scenario.ts";
import { main, preview, project } from "./support/seeded-service.ts";
import { useStage } from "./support/use-stage.ts";

const stage = useStage();

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
  const shop = await stage().scenario();
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

it.concurrent("a pool rolls a changed template to every replica, and goes down to none and up again", async () => {
  const shop = await stage().scenario();
  await shop.cluster.create("ComputePool", shop.namespace, pool(3));
  await settlesAt(shop, 3);
  const before = shop.endpoints.map(({ id }) => id).toSorted();
  await shop.cluster.modify("ComputePool", shop.namespace, "readers", (object) => {
    object.spec = pool(3, { branchID: preview, computeUnits: { min: 2, max: 4 } }).spec;
  });
  await eventually("every endpoint to be as the template", () =>
    shop.endpoints.every((one) => one.branch_id === preview && one.autoscaling_limit_max_cu === 4) ? true : undefined,
  );
  await settlesAt(shop, 3);
  expect(shop.endpoints.map(({ id }) => id).toSorted()).toEqual(before);
  await scaleTo(shop, 0);
  await settlesAt(shop, 0);
  expect(shop.endpoints).toEqual([]);
  const none = await shop.cluster.get("ComputePool", shop.namespace, "readers");
  expect(none.status?.["conditions"]).toMatchObject([{ type: "Ready", status: "True" }]);
  await scaleTo(shop, 1);
  await settlesAt(shop, 1);
  expect(shop.endpoints).toMatchObject([{ branch_id: preview, autoscaling_limit_max_cu: 4 }]);
});

it.concurrent("a pool's owner garbage collection: in the foreground it goes last, and orphans stay as they are", async () => {
  const remove = (shop: Scenario, how: string) =>
    kubectl(["--namespace", shop.namespace, "delete", "computepool/readers", `--cascade=${how}`, "--wait=false"]);
  const [foreground, orphan] = await Promise.all([stage().scenario(), stage().scenario()]);
  for (const shop of [foreground, orphan]) await shop.cluster.create("ComputePool", shop.namespace, pool(2));
  await Promise.all([settlesAt(foreground, 2), settlesAt(orphan, 2)]);
  foreground.faults({ kind: "503", method: "DELETE" });
  await remove(foreground, "foreground");
  await eventually("both to be leaving", async () => {
    const computes = await foreground.cluster.list("Compute", foreground.namespace);
    return computes.every(({ metadata }) => metadata.deletionTimestamp !== undefined) || undefined;
  });
  expect(await foreground.cluster.find("ComputePool", foreground.namespace, "readers")).toBeDefined();
  foreground.faults();
  await Promise.all(["readers-0", "readers-1"].map((name) => foreground.gone(name)));
  expect(foreground.endpoints).toEqual([]);
  await remove(orphan, "orphan");
  await eventually("the pool's end", async () => {
    const left = await orphan.cluster.find("ComputePool", orphan.namespace, "readers");
    return left === undefined ? true : undefined;
  });
  const computes = await orphan.cluster.list("Compute", orphan.namespace);
  expect(computes.map(({ metadata }) => metadata.ownerReferences ?? [])).toEqual([[], []]);
  await orphan.lists(2);
  expect(orphan.writes.filter((write) => write.startsWith("DELETE"))).toEqual([]);
  // As with a ReplicaSet, another pool of the same name takes them back, and so does one restored from a backup.
  const writes = orphan.writes.length;
  await orphan.cluster.create("ComputePool", orphan.namespace, pool(2));
  await settlesAt(orphan, 2);
  expect(await orphan.event("readers-0", "Adopted")).toContain("Taken back by ComputePool readers");
  expect(orphan.writes.slice(writes)).toEqual([]);
  expect(orphan.endpoints).toHaveLength(2);
});

it.concurrent("a pool that is deleted takes its Computes with it, and they their endpoints", async () => {
  const shop = await stage().scenario();
  await shop.cluster.create("ComputePool", shop.namespace, pool(2));
  await settlesAt(shop, 2);
  await shop.cluster.delete("ComputePool", shop.namespace, "readers");
  await Promise.all(["readers-0", "readers-1"].map((name) => shop.gone(name)));
  expect(shop.endpoints).toEqual([]);
});

it.concurrent("a pool that a backup brings back after its members has their endpoints, and makes none beside them", async () => {
  const shop = await stage().scenario();
  await shop.cluster.create("ComputePool", shop.namespace, pool(2, { deletionPolicy: "Retain" }));
  await settlesAt(shop, 2);
  const before = shop.endpoints.map(({ id }) => id).toSorted();
  const saved = await shop.cluster.list("Compute", shop.namespace);
  await shop.cluster.delete("ComputePool", shop.namespace, "readers");
  await Promise.all(["readers-0", "readers-1"].map((name) => shop.gone(name)));
  expect(shop.endpoints).toHaveLength(2);

  // As Velero does: without uid, owner and status.
  for (const { metadata, spec = {} } of saved) {
    const { name, labels = {}, annotations = {} } = metadata;
    const kind = { apiVersion: "compute-operator.dev/v1alpha1", kind: "Compute" };
    await shop.cluster.create("Compute", shop.namespace, { ...kind, metadata: { name, labels, annotations }, spec });
  }
  const writes = shop.writes.length;
  await shop.cluster.create("ComputePool", shop.namespace, pool(2, { deletionPolicy: "Retain" }));
  await settlesAt(shop, 2);
  await shop.lists(2);
  expect(shop.endpoints.map(({ id }) => id).toSorted()).toEqual(before);
  expect(shop.writes.slice(writes).filter((write) => !write.startsWith("PATCH"))).toEqual([]);
  const owners = (await shop.cluster.list("Compute", shop.namespace)).map(
    ({ metadata }) => metadata.ownerReferences ?? [],
  );
  expect(owners.map(([owner]) => owner?.kind)).toEqual(["ComputePool", "ComputePool"]);
});
