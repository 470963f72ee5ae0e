import { ClusterClient, type ListPage } from "../../operator/kube/client.ts";
import { ClusterError, ClusterUnreachable } from "../../operator/kube/errors.ts";
import { HttpTransport } from "../../operator/kube/http-transport.ts";
import type { JsonPatchOperation } from "../../operator/kube/json-patch.ts";
import { type ClusterConnection, loadKubeConfig } from "../../operator/kube/kubeconfig.ts";
import { listAll } from "../../operator/kube/list-all.ts";
import type { KubeObject, ObjectRef, ResourceKind } from "../../operator/kube/objects.ts";
import { messageOf } from "../../operator/runtime/operational-error.ts";
import { type CliPorts, CommandProblem } from "./ports.ts";

/** The flags of kubectl that name a cluster, and a namespace in it. */
export interface ClusterFlags {
  kubeconfig?: string | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
}

export interface ClusterOptions {
  /** The field manager of what is written. */
  userAgent: string;
  /** Message of a failed request, after "the cluster at …". */
  failure: (error: ClusterError | ClusterUnreachable) => string;
  /** Added to every problem. */
  wayOut?: string;
}

/** The deadline of one request to the API server, in milliseconds. */
const timeoutMs = 30_000;
/** Objects per page of a list. */
const pageSize = 500;

/**
 * The cluster that flags name, or that kubectl would use. Each method throws a `CommandProblem` whose cause is the API
 * server's error; an interrupted command throws the reason of its signal.
 */
export class CommandCluster {
  /** The namespace of the flags, else that of the context. */
  readonly namespace: string;
  readonly server: string;
  readonly #signal: AbortSignal;
  readonly #client: ClusterClient;
  readonly #close: () => Promise<void>;
  readonly #options: ClusterOptions;

  constructor(flags: ClusterFlags, ports: CliPorts, options: ClusterOptions) {
    const { clock, signal, clusterTransport } = ports;
    const connection = connectionTo(flags, ports, options);
    const http = new HttpTransport({ connection, clock, userAgent: options.userAgent });
    this.namespace = flags.namespace ?? connection.namespace ?? "default";
    this.server = connection.server;
    this.#signal = signal;
    this.#close = () => http.close();
    this.#client = new ClusterClient(clusterTransport ?? http, { clock, signal, timeoutMs });
    this.#options = options;
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** The object; `undefined` if it does not exist. */
  get<T extends KubeObject>(kind: ResourceKind<T>, ref: ObjectRef): Promise<T | undefined> {
    return this.#asking(() => this.#client.get(kind, ref));
  }

  /** The first object of a kind in the cluster's namespace. */
  firstPage(kind: ResourceKind): Promise<ListPage> {
    return this.#asking(() => this.#client.listPage(kind, { namespace: this.namespace, limit: 1 }));
  }

  /** All objects of a kind, each as `read` gives it; without a namespace those of all. */
  async list<T extends KubeObject, R>(
    kind: ResourceKind<T>,
    read: (raw: unknown) => R,
    namespace?: string,
  ): Promise<R[]> {
    const selection = { namespace, limit: pageSize };
    const { items } = await this.#asking(() => listAll(this.#client, kind, selection, read, this.#signal));
    return items;
  }

  patch<T extends KubeObject>(kind: ResourceKind<T>, ref: ObjectRef, ops: readonly JsonPatchOperation[]): Promise<T> {
    return this.#asking(() => this.#client.patch(kind, ref, ops));
  }

  async #asking<T>(ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (this.#signal.aborted) throw error;
      if (!(error instanceof ClusterError || error instanceof ClusterUnreachable)) throw error;
      const { failure, wayOut = "" } = this.#options;
      throw new CommandProblem([`the cluster at ${this.server}${failure(error)}${wayOut}`], { cause: error });
    }
  }
}

/** The error of the API server behind a problem. */
export function causeOf(error: unknown): unknown {
  return error instanceof CommandProblem ? error.cause : error;
}

function connectionTo(
  { kubeconfig: file, context }: ClusterFlags,
  { env }: CliPorts,
  { wayOut = "" }: ClusterOptions,
): ClusterConnection {
  try {
    return loadKubeConfig({ file, context, env });
  } catch (error) {
    throw new CommandProblem([`${messageOf(error)}${wayOut}`], { cause: error });
  }
}
