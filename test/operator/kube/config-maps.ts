import type { KubeObject, ResourceKind } from "../../../src/operator/kube/objects.ts";

export interface ConfigMap extends KubeObject {
  data?: Readonly<Record<string, string>> | undefined;
}

/** A kind that every API server has and nothing acts on. */
export const configMaps: ResourceKind<ConfigMap> = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
};

export function configMap(namespace: string, name: string, metadata: Partial<KubeObject["metadata"]> = {}) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, ...metadata } };
}
