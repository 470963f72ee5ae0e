import type { ConnectionCache } from "../../src/operator/connection/registry.ts";
import { finalizers } from "../../src/operator/resources/names.ts";
import type { Secret } from "../../src/operator/resources/secret.ts";
import { parseServiceConnection, type ServiceConnection } from "../../src/operator/resources/service-connection.ts";

/** What a cache says where there are no ClusterServiceConnections. */
export const withoutCluster: Pick<ConnectionCache, "lacksSecrets" | "namespaceLabels" | "clusterConnections"> = {
  lacksSecrets: () => false,
  namespaceLabels: () => "unread",
  clusterConnections: () => "notWatched",
};

export interface ConnectionFields {
  name?: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  deleting?: boolean;
  /** `false`: without the operator's finalizer. */
  guarded?: boolean;
  spec?: Record<string, unknown>;
}

/** A ServiceConnection as the cache holds it. */
export function connection(fields: ConnectionFields = {}): ServiceConnection {
  const { name = "default", namespace = "team", uid = "connection-1", generation = 1, guarded = true } = fields;
  const parsed = parseServiceConnection({
    apiVersion: "compute-operator.dev/v1alpha1",
    kind: "ServiceConnection",
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion: "1",
      generation,
      finalizers: guarded ? [finalizers.inUse] : [],
      ...(fields.deleting === true ? { deletionTimestamp: "2026-01-02T00:00:00Z" } : {}),
    },
    spec: { baseURL: "https://service.example.com/api/v2", apiKeySecretRef: { name: "service" }, ...fields.spec },
    status: {},
  });
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

/** The Secret that it names. */
export function apiKeySecret(
  fields: { name?: string; namespace?: string; key?: string; under?: string; guarded?: boolean } = {},
): Secret {
  const { name = "service", namespace = "team", key = "a-key-of-a-test", under = "api-key", guarded = true } = fields;
  return {
    metadata: {
      name,
      namespace,
      uid: `secret-${name}`,
      resourceVersion: "1",
      finalizers: guarded ? [finalizers.inUse] : [],
    },
    type: "compute-operator.dev/api-key",
    data: { [under]: Buffer.from(key).toString("base64") },
  };
}
