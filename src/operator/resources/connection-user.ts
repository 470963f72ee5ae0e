import type { KubeObject } from "../objects/object.ts";
import type { ComputeSpec } from "./compute-spec.ts";

/** An object that reaches a project of the service through a connection: a Compute or a Branch. */
export interface ConnectionUser extends KubeObject {
  spec: Pick<ComputeSpec, "connectionRef" | "projectID">;
  status: { clusterConnection?: string | undefined };
}

/** Such an object, or the template of a ComputePool with the pool's metadata. */
interface Connected {
  metadata: Pick<ConnectionUser["metadata"], "namespace">;
  spec: Pick<ComputeSpec, "connectionRef">;
}

/** Namespace and name of the connection that an object names; the namespace of a ClusterServiceConnection is empty. */
export function connectionKeyOf({ metadata, spec }: Connected) {
  const { kind, name } = spec.connectionRef;
  return { namespace: kind === "ClusterServiceConnection" ? "" : (metadata.namespace ?? ""), name };
}

/** Name of the ClusterServiceConnection that an object names; `undefined`: it names one of its namespace. */
export function clusterConnectionOf({ spec }: Pick<Connected, "spec">): string | undefined {
  const { kind, name } = spec.connectionRef;
  return kind === "ClusterServiceConnection" ? name : undefined;
}
