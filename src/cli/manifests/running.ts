import { normalisedBaseURL } from "../../operator/connection/resolve.ts";
import { ClusterClient } from "../../operator/kube/client.ts";
import { ClusterError, ClusterUnreachable, isForbidden, isNotFound } from "../../operator/kube/errors.ts";
import { HttpTransport } from "../../operator/kube/http-transport.ts";
import type { ClusterConnection } from "../../operator/kube/kubeconfig.ts";
import { listAll } from "../../operator/kube/list-all.ts";
import { type KubeObject, type Parsed, placeOf, type ResourceKind } from "../../operator/objects/object.ts";
import { type Branch, branchKind, parseBranch } from "../../operator/resources/branch.ts";
import {
  type Connection,
  clusterServiceConnectionKind,
  parseClusterServiceConnection,
} from "../../operator/resources/cluster-service-connection.ts";
import { type Compute, computeKind, parseCompute } from "../../operator/resources/compute.ts";
import { type ComputePool, computePoolKind, parseComputePool } from "../../operator/resources/compute-pool.ts";
import { API_KEY_SECRET_TYPE, INSTALL_NAMESPACE } from "../../operator/resources/names.ts";
import { namespaceKind, parseNamespace } from "../../operator/resources/namespace.ts";
import { type Secret, secretKind } from "../../operator/resources/secret.ts";
import { parseServiceConnection, serviceConnectionKind } from "../../operator/resources/service-connection.ts";
import { type CliPorts, CommandProblem } from "../commands/ports.ts";

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

/** The deadline of one request to the API server, in milliseconds. */
const timeoutMs = 30_000;
/** Objects per page of a list. */
const pageSize = 500;

/** Reads a cluster, and writes nothing. Throws `CommandProblem`. */
export class RunningCluster {
  /** The namespace of the kubeconfig's context. */
  readonly namespace: string | undefined;
  readonly #server: string;
  readonly #signal: AbortSignal;
  readonly #close: () => Promise<void>;
  readonly #client: ClusterClient;
  readonly #wayOut: string;
  #isPartial = false;

  /** `wayOut` is added to every problem. */
  constructor(connection: ClusterConnection, { clock, signal, clusterTransport }: CliPorts, wayOut = "") {
    this.#wayOut = wayOut;
    this.namespace = connection.namespace;
    this.#server = connection.server;
    this.#signal = signal;
    const http = new HttpTransport({ connection, clock, userAgent: "compute-operator" });
    this.#close = () => http.close();
    this.#client = new ClusterClient(clusterTransport ?? http, { clock, signal, timeoutMs });
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** True if the cluster knows Computes. */
  async hasOurKinds(): Promise<boolean> {
    try {
      await this.#client.listPage(computeKind, { namespace: this.namespace ?? "default", limit: 1 });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (isForbidden(error)) return true;
      throw this.#problemOf(error);
    }
  }

  /** Without the right to list all namespaces it reads these. */
  async read(namespaces: readonly string[]): Promise<Running> {
    const [computes, pools, branches, connections, clusterConnections, labels] = await Promise.all([
      this.#listed(computeKind, parseCompute, namespaces),
      this.#listed(computePoolKind, parseComputePool, namespaces),
      this.#listed(branchKind, parseBranch, namespaces),
      this.#listed(serviceConnectionKind, parseServiceConnection, namespaces),
      this.#listed(clusterServiceConnectionKind, parseClusterServiceConnection, []),
      this.#labels(),
    ]);
    const all = [...connections, ...clusterConnections];
    const isPartial = this.#isPartial;
    return { computes, pools, branches, connections: all, namespaces: labels, isPartial, secrets: new Map() };
  }

  /** Adds the Secret that a connection names, where there is one of the right type and it may be read. */
  async readSecretOf({ metadata, spec }: Connection, { secrets }: Running): Promise<void> {
    const { namespace = INSTALL_NAMESPACE } = metadata;
    try {
      const secret = await this.#client.get(secretKind, { namespace, name: spec.apiKeySecretRef.name });
      if (secret?.type === API_KEY_SECRET_TYPE) secrets.set(placeOf(metadata), secret);
    } catch (error) {
      if (!isForbidden(error)) throw this.#problemOf(error);
    }
  }

  async #listed<T extends KubeObject>(
    kind: ResourceKind<T>,
    parse: (raw: unknown) => Parsed<T>,
    namespaces: readonly string[],
  ): Promise<T[]> {
    const read = (raw: unknown): T => {
      const parsed = parse(raw);
      if (parsed.ok) return parsed.value;
      throw new CommandProblem([`a ${kind.kind} in the cluster cannot be read: ${parsed.problem}`]);
    };
    const list = async (namespace?: string) => {
      const { items } = await listAll(this.#client, kind, { namespace, limit: pageSize }, read, this.#signal);
      return items;
    };
    try {
      return await list();
    } catch (error) {
      // Without the CRD there are no objects.
      if (isNotFound(error)) return [];
      if (!isForbidden(error) || (kind.namespaced && namespaces.length === 0)) throw this.#problemOf(error);
    }
    this.#isPartial ||= kind.namespaced;
    try {
      return (await Promise.all(namespaces.map(list))).flat();
    } catch (error) {
      throw this.#problemOf(error);
    }
  }

  /** Namespaces matter to the selectors of ClusterServiceConnections only, so nobody has to grant this. */
  async #labels(): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
    try {
      const { items } = await listAll(this.#client, namespaceKind, { limit: pageSize }, parseNamespace, this.#signal);
      return new Map(items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
    } catch (error) {
      if (isForbidden(error)) return new Map();
      throw this.#problemOf(error);
    }
  }

  /** Message for an error; that of an interrupted command stays as it is. */
  #problemOf(error: unknown): unknown {
    if (this.#signal.aborted) return error;
    if (!(error instanceof ClusterError || error instanceof ClusterUnreachable)) return error;
    const grant = isForbidden(error)
      ? ". Grant get and list of computes, computepools, branches, serviceconnections and clusterserviceconnections"
      : "";
    return new CommandProblem(
      [`the cluster at ${this.#server} cannot be read: ${error.message}${grant}${this.#wayOut}`],
      {
        cause: error,
      },
    );
  }
}

/** The base URL to which the cluster's own connection of that place sends its key. */
export function runningBaseURL({ connections }: Running, place: string): string | undefined {
  const own = connections.find(({ metadata }) => placeOf(metadata) === place);
  return own && normalisedBaseURL(own.spec.baseURL);
}
