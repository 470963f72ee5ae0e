import { normalisedBaseURL } from "../../operator/connection/read-account.ts";
import { isForbidden, isNotFound } from "../../operator/kube/errors.ts";
import { type KubeObject, type Parsed, placeOf, type ResourceKind } from "../../operator/objects/object.ts";
import type { Branch } from "../../operator/resources/branch.ts";
import type { Connection } from "../../operator/resources/cluster-service-connection.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { ComputePool } from "../../operator/resources/compute-pool.ts";
import { API_KEY_SECRET_TYPE, INSTALL_NAMESPACE } from "../../operator/resources/names.ts";
import { namespaceKind, parseNamespace } from "../../operator/resources/namespace.ts";
import { type Secret, secretKind } from "../../operator/resources/secret.ts";
import { type ClusterFlags, CommandCluster, causeOf } from "../commands/cluster.ts";
import { type CliPorts, CommandProblem } from "../commands/ports.ts";
import { kinds } from "./kinds.ts";

/** `where` of an object that the cluster holds and no manifest declares. */
export const inCluster = "the cluster";

/** Objects in a cluster of the kinds that concern the service. */
export interface Running {
  computes: readonly Compute[];
  pools: readonly ComputePool[];
  branches: readonly Branch[];
  connections: readonly Connection[];
  /** The labels of each namespace; empty where they may not be read. */
  namespaces: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Not all namespaces could be read. */
  isPartial: boolean;
  /** The Secrets that could be read, by the place of the connection that names them. */
  secrets: Map<string, Secret>;
}

/** The cluster that the flags name, which nothing is written to. `wayOut` is added to every problem. */
export function clusterToRead(flags: ClusterFlags, ports: CliPorts, wayOut = ""): CommandCluster {
  const rights = "computes, computepools, branches, serviceconnections and clusterserviceconnections";
  return new CommandCluster(flags, ports, {
    userAgent: "compute-operator",
    failure: (error) =>
      ` cannot be read: ${error.message}${isForbidden(error) ? `. Grant get and list of ${rights}` : ""}`,
    wayOut,
  });
}

/** True if the cluster knows Computes. */
export async function hasOurKinds(cluster: CommandCluster): Promise<boolean> {
  try {
    await cluster.firstPage(kinds.Compute.resource);
    return true;
  } catch (error) {
    if (isNotFound(causeOf(error))) return false;
    if (isForbidden(causeOf(error))) return true;
    throw error;
  }
}

/** The objects of a cluster. Without the right to list all namespaces it reads these. */
export async function readRunning(cluster: CommandCluster, namespaces: readonly string[]): Promise<Running> {
  const reader = new Reader(cluster, namespaces);
  const [computes, pools, branches, connections, clusterConnections, labels] = await Promise.all([
    reader.listed(kinds.Compute),
    reader.listed(kinds.ComputePool),
    reader.listed(kinds.Branch),
    reader.listed(kinds.ServiceConnection),
    reader.listed(kinds.ClusterServiceConnection),
    labelsIn(cluster),
  ]);
  const all = [...connections, ...clusterConnections];
  const { isPartial } = reader;
  return { computes, pools, branches, connections: all, namespaces: labels, isPartial, secrets: new Map() };
}

/** Adds the Secret that a connection names, where there is one of the right type and it may be read. */
export async function readSecretOf(
  cluster: CommandCluster,
  { metadata, spec }: Connection,
  { secrets }: Running,
): Promise<void> {
  const { namespace = INSTALL_NAMESPACE } = metadata;
  try {
    const secret = await cluster.get(secretKind, { namespace, name: spec.apiKeySecretRef.name });
    if (secret?.type === API_KEY_SECRET_TYPE) secrets.set(placeOf(metadata), secret);
  } catch (error) {
    if (!isForbidden(causeOf(error))) throw error;
  }
}

/** Lists kinds in all namespaces, or in those that the caller may read. */
class Reader {
  readonly #cluster: CommandCluster;
  readonly #namespaces: readonly string[];
  isPartial = false;

  constructor(cluster: CommandCluster, namespaces: readonly string[]) {
    this.#cluster = cluster;
    this.#namespaces = namespaces;
  }

  async listed<T extends KubeObject>({
    resource: kind,
    parse,
  }: {
    resource: ResourceKind<T>;
    parse: (raw: unknown) => Parsed<T>;
  }): Promise<T[]> {
    const read = (raw: unknown): T => {
      const parsed = parse(raw);
      if (parsed.ok) return parsed.value;
      throw new CommandProblem([`a ${kind.kind} in the cluster cannot be read: ${parsed.problem}`]);
    };
    const namespaces = kind.namespaced ? this.#namespaces : [];
    try {
      return await this.#cluster.list(kind, read);
    } catch (error) {
      const cause = causeOf(error);
      // Without the CRD there are no objects.
      if (isNotFound(cause)) return [];
      if (!isForbidden(cause) || (kind.namespaced && namespaces.length === 0)) throw error;
    }
    this.isPartial ||= kind.namespaced;
    const lists = await Promise.all(namespaces.map((namespace) => this.#cluster.list(kind, read, namespace)));
    return lists.flat();
  }
}

/** Namespaces matter to the selectors of ClusterServiceConnections only, so nobody has to grant this. */
async function labelsIn(cluster: CommandCluster): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  try {
    const namespaces = await cluster.list(namespaceKind, parseNamespace);
    return new Map(namespaces.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
  } catch (error) {
    if (isForbidden(causeOf(error))) return new Map();
    throw error;
  }
}

/** The base URL to which the cluster's own connection of that place sends its key. */
export function runningBaseURL({ connections }: Running, place: string): string | undefined {
  const own = connections.find(({ metadata }) => placeOf(metadata) === place);
  return own && normalisedBaseURL(own.spec.baseURL);
}
