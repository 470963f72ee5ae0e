import type { ClusterClient } from "./cluster/client.ts";
import type { ResourceKind } from "./cluster/objects.ts";
import { computeKind } from "./resources/compute.ts";

const crdKind: ResourceKind = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

/**
 * Whether the CRD of Computes is being deleted, or gone. The API server marks it before it marks the first Compute, so
 * an answer that begins after a Compute's deletion was seen is proof. Throws where there is no answer: then nothing is
 * deleted.
 */
export async function crdIsGoing(cluster: ClusterClient): Promise<boolean> {
  const crd = await cluster.get(crdKind, { name: `${computeKind.plural}.${computeKind.group}` });
  return crd === undefined || crd.metadata.deletionTimestamp !== undefined;
}
