import { type Connection, isOfCluster, labelOf } from "../resources/cluster-service-connection.ts";
import type { Compute } from "../resources/compute.ts";
import { selectsAll, selectsLabels } from "../resources/namespace-selector.ts";
import { connectionNotReady } from "./messages.ts";

/** The labels of a namespace; `unknown`: the watch has not delivered it, or no longer; `unread`: none can be read. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | "unknown" | "unread";

/** Whether a Compute may use a connection, by its namespace; `unknown` until its labels are known. */
export type NamespaceAccess = "granted" | "unknown" | { refused: string };

/** A ServiceConnection serves its own namespace, a ClusterServiceConnection the namespaces that it selects. */
export function namespaceAccess(connection: Connection, compute: Compute, labelsOf: NamespaceLabels): NamespaceAccess {
  if (!isOfCluster(connection) || selectsAll(connection.spec.namespaceSelector)) return "granted";
  const { namespace = "", deletionTimestamp } = compute.metadata;
  const labels = labelsOf(namespace);
  if (labels === "unread") return { refused: connectionNotReady.namespacesUnread(labelOf(connection)) };
  if (labels === "unknown") {
    // The namespace went before what the Compute left at the service, and nobody took its access away.
    const isLinked = compute.status.clusterConnection === connection.metadata.name;
    return deletionTimestamp !== undefined && isLinked ? "granted" : "unknown";
  }
  if (selectsLabels(connection.spec.namespaceSelector, labels)) return "granted";
  return { refused: connectionNotReady.notSelected(labelOf(connection), namespace) };
}
