import { connectionKeyOf } from "../resources/compute.ts";
import type { Informers } from "./informers.ts";

/** The kinds that are reconciled. */
export type Kind = "compute" | "connection" | "pool";

/**
 * The flow of an object in its work queue, as `tenant/flow`. A namespace is a tenant. The Computes of a connection
 * share a flow, so a dead service does not block all workers. Connections and pools only wait for the API server, so
 * each has its own flow.
 */
export function flowOf(kind: Kind, uid: string, informers: Informers): string {
  const { computes, pools } = informers;
  if (kind === "compute") {
    const compute = computes.byUid(uid);
    if (compute === undefined) return "";
    const { namespace, name } = connectionKeyOf(compute);
    return `${compute.metadata.namespace ?? ""}/${namespace}/${name}`;
  }
  const object = kind === "connection" ? informers.connectionByUID(uid) : pools.byUid(uid);
  return `${object?.metadata.namespace ?? ""}/${uid}`;
}
