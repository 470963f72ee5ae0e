import { expect, test } from "vitest";
import { createOwned, ownerReference } from "../../../src/operator/kube/create-owned.ts";
import { computePoolKind } from "../../../src/operator/resources/compute-pool.ts";
import { configMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";

const object = { metadata: { name: "readers", namespace: "shop", uid: "u-1", resourceVersion: "5" } };
const owner = { kind: computePoolKind, object, isBlocked: true };
const reference = {
  apiVersion: "compute-operator.dev/v1alpha1",
  kind: "ComputePool",
  name: "readers",
  uid: "u-1",
  controller: true,
};

test.each([true, false])("an owner controls what it owns, and stays until that is gone: %j", (isBlocked) => {
  expect(ownerReference({ ...owner, isBlocked })).toEqual({ ...reference, blockOwnerDeletion: isBlocked });
});

test("an object is created with its owner, and nothing is done where its name is taken", async () => {
  const client = new MemoryCluster().client();
  const draft = { ...configMap("default", "x", { labels: { app: "shop" } }), data: { a: "1" } };
  const made = await createOwned(client, configMaps, draft, owner);
  expect(made).toMatchObject({ data: { a: "1" }, metadata: { labels: { app: "shop" } } });
  expect(made?.metadata.ownerReferences).toEqual([{ ...reference, blockOwnerDeletion: true }]);
  expect(await createOwned(client, configMaps, { ...draft, data: { a: "2" } }, owner)).toBeUndefined();
  expect(await client.get(configMaps, { namespace: "default", name: "x" })).toEqual(made);
});
