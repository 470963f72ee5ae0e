import { connectionKeyOf } from "../resources/connection-user.ts";
import type { Informers } from "./informers.ts";

/** The kinds that are reconciled. */
export type Kind = "compute" | "connection" | "pool" | "branch";

/**
 * The flow of an object in its work queue, as `tenant/flow`. A namespace is a tenant. The Computes of a connection
 * share a flow, so a dead service does not block all workers, as do its Branches. Connections and pools only wait for
 * the API server, so each has its own flow.
 */
export function flowOf(kind: Kind, uid: string, informers: Informers): string {
  const { computes, branches, pools } = informers;
  if (kind === "compute" || kind === "branch") {
    const user = kind === "compute" ? computes.byUid(uid) : branches.byUid(uid);
    if (user === undefined) return "";
    const { namespace, name } = connectionKeyOf(user);
    return `${user.metadata.namespace ?? ""}/${namespace}/${name}`;
  }
  const object = kind === "connection" ? informers.connectionByUID(uid) : pools.byUid(uid);
  return `${object?.metadata.namespace ?? ""}/${uid}`;
}
