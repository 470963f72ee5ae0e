import type { ClusterClient } from "./cluster/client.ts";
import type { ResourceKind } from "./cluster/objects.ts";
import { type Compute, computeKind } from "./resources/compute.ts";
import { computePoolKind } from "./resources/compute-pool.ts";

const crdKind: ResourceKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

/**
 * Whether a CRD, that of Computes if none is named, is being deleted, or gone. The API server marks it before it marks
 * the first of its objects, so an answer that begins after a Compute's deletion was seen is proof. Throws where there
 * is no answer: then nothing is deleted.
 */
export async function crdIsGoing(
  cluster: ClusterClient,
  { plural, group }: ResourceKind = computeKind,
): Promise<boolean> {
  const crd = await cluster.get(crdKind, { name: `${plural}.${group}` });
  return crd === undefined || crd.metadata.deletionTimestamp !== undefined;
}

/** Whether a Compute goes for that alone: with its own CRD, or with that of the pool which owns it. */
export async function goesWithCRD(cluster: ClusterClient, { metadata }: Compute): Promise<boolean> {
  if (await crdIsGoing(cluster)) return true;
  const inPool = metadata.ownerReferences?.some(({ kind }) => kind === computePoolKind.kind) === true;
  return inPool && crdIsGoing(cluster, computePoolKind);
}
