import type { Compute } from "../resources/compute.ts";
import type { Informers } from "./informers.ts";

/** What there are passes over. */
export type Kind = "compute" | "connection" | "pool";

/**
 * Which lane the passes over an object are in, as `tenant/lane`. A namespace is a tenant. Computes of one connection
 * share a lane, so that its dead service does not fill the workers; one that is gone stays in its lane while its
 * endpoint is still to be deleted. Connections and pools wait for the API server alone.
 */
export function flowOf(
  kind: Kind,
  uid: string,
  informers: Informers,
  departed: (uid: string) => Compute | undefined,
): string {
  const { computes, connections, pools } = informers;
  if (kind === "compute") {
    const compute = computes.byUid(uid) ?? departed(uid);
    return compute === undefined ? "" : `${compute.metadata.namespace ?? ""}/${compute.spec.connectionRef.name}`;
  }
  const object = (kind === "connection" ? connections : pools).byUid(uid);
  return `${object?.metadata.namespace ?? ""}/${uid}`;
}
