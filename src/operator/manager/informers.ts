import type { KeptSecret } from "../connection-secret/kept-secret.ts";
import type { ClusterClient } from "../kube/client.ts";
import type { ReflectorOptions } from "../kube/reflector.ts";
import { Reflectors } from "../kube/reflectors.ts";
import type { Change } from "../kube/store.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { type KubeObject, type Parsed, placeOf, type ResourceKind } from "../objects/object.ts";
import type { OperatorOptions } from "../options.ts";
import { type Branch, branchKind, parseBranch } from "../resources/branch.ts";
import {
  type ClusterServiceConnection,
  type Connection,
  clusterServiceConnectionKind,
  parseClusterServiceConnection,
} from "../resources/cluster-service-connection.ts";
import { type Compute, computeKind, parseCompute } from "../resources/compute.ts";
import { type ComputePool, computePoolKind, parseComputePool } from "../resources/compute-pool.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import { type Namespace, namespaceKind, parseNamespace } from "../resources/namespace.ts";
import { type Secret, secretKind } from "../resources/secret.ts";
import {
  parseServiceConnection,
  type ServiceConnection,
  serviceConnectionKind,
} from "../resources/service-connection.ts";
import type { RuntimePorts } from "../runtime/log.ts";
import { OperationalError } from "../runtime/operational-error.ts";
import { Arrivals } from "./arrivals.ts";
import { ComputeCounts } from "./compute-counts.ts";
import { Indexes } from "./indexes.ts";
import { type KeptLabels, labelsOfCompute, labelsOfMaker, noLabels, withKeptMetadata } from "./kept-metadata.ts";
import { apiKeysOnly, connectionSecretsOnly } from "./secret-watches.ts";
import { crdIsGoing } from "./uninstalling.ts";

export interface InformersOptions extends RuntimePorts {
  client: ClusterClient;
  metrics: Metrics;
  namespaces: readonly string[];
  /** The selector of this process's Computes, by their labels. */
  selects: OperatorOptions["selects"];
  /** Left out: ClusterServiceConnections are not watched. */
  clusterResourceNamespace?: string | undefined;
}

/** The informers that ClusterServiceConnections need besides. */
interface ClusterInformers {
  connections: Reflectors<ClusterServiceConnection>;
  /** The namespace that their Secrets lie in, and the API keys there. */
  resourceNamespace: string;
  apiKeys: Reflectors<Secret>;
  namespaces: Reflectors<Namespace>;
}

/** Called with each change, after the cache has it. */
export interface ChangeHandlers {
  compute: (change: Change<Compute>) => void;
  connection: (change: Change<ServiceConnection> | Change<ClusterServiceConnection>) => void;
  pool: (change: Change<ComputePool>) => void;
  branch: (change: Change<Branch>) => void;
  apiKey: (change: Change<Secret>) => void;
  clusterApiKey: (change: Change<Secret>) => void;
  connectionSecret: (change: Change<Secret>) => void;
  namespace: (change: Change<Namespace>) => void;
  /** A complete list of Computes was read. */
  computesRelisted: () => void;
  /** A complete list of Branches was read. */
  branchesRelisted: () => void;
}

/**
 * Caches of all watched objects. Of Secrets: API keys, by their type, and connection Secrets, by their label. An
 * operator of the whole cluster may lack the right to Secrets, and all that only ClusterServiceConnections need.
 */
export class Informers {
  readonly computes: Reflectors<Compute>;
  readonly branches: Reflectors<Branch>;
  readonly indexes = new Indexes(
    (uid) => this.computes.byUid(uid),
    (uid) => this.branches.byUid(uid),
    (uid) => this.connectionSecrets.byUid(uid),
  );
  readonly counts = new ComputeCounts();
  readonly arrivals: Arrivals;
  readonly #connections: Reflectors<ServiceConnection>;
  readonly #cluster: ClusterInformers | undefined;
  readonly pools: Reflectors<ComputePool>;
  readonly apiKeys: Reflectors<Secret>;
  readonly connectionSecrets: Reflectors<KeptSecret>;
  readonly #handlers = new Set<ChangeHandlers>();

  constructor(options: InformersOptions) {
    const { namespaces, metrics, clusterResourceNamespace, selects, ...shared } = options;
    this.arrivals = new Arrivals(selects, options.clock);
    const isClusterWide = namespaces.length === 0 && clusterResourceNamespace !== undefined;
    const isUninstalled = () => crdIsGoing(options.client);
    const observer = {
      watchRestarted: (kind: string, cause: string) => metrics.watchRestarts.add({ kind, cause }),
      relisted: (kind: string, cause: string) => metrics.relists.add({ kind, cause }),
    };
    const reflect = <T extends KubeObject>(
      kind: ResourceKind<T>,
      onChange: (change: Change<T>) => void,
      more: Partial<ReflectorOptions<T>> = {},
      within = namespaces,
    ) => new Reflectors<T>(within, { ...shared, isUninstalled, observer, kind, onChange, ...more });
    const each = (call: (handlers: ChangeHandlers) => void) => this.#handlers.forEach(call);
    const computeChanged = (change: Change<Compute>) => {
      this.indexes.compute(change);
      this.counts.change(change);
      this.arrivals.change(change);
      each((handlers) => handlers.compute(change));
    };
    const [ofComputes, ofMakers] = [labelsOfCompute(selects), labelsOfMaker(selects)];
    this.computes = reflect(computeKind, computeChanged, {
      parse: (raw) => withKeptMetadata(readable(parseCompute(raw)), ofComputes),
      onRelist: () => each((handlers) => handlers.computesRelisted()),
    });
    this.#connections = reflect(serviceConnectionKind, (change) => each((handlers) => handlers.connection(change)), {
      parse: (raw) => withKeptMetadata(readable(parseServiceConnection(raw)), noLabels),
    });
    this.pools = reflect(computePoolKind, (change) => each((handlers) => handlers.pool(change)), {
      parse: (raw) => withKeptMetadata(readable(parseComputePool(raw)), ofMakers),
    });
    this.branches = reflect(branchKind, (change) => this.#branchChanged(change), {
      ...branchesParsed(ofMakers),
      onRelist: () => each((handlers) => handlers.branchesRelisted()),
    });
    const ofKeys = { ...apiKeysOnly, optional: isClusterWide };
    this.apiKeys = reflect(secretKind, (change) => each((handlers) => handlers.apiKey(change)), ofKeys);
    this.connectionSecrets = reflect(secretKind, (change) => this.#secretChanged(change), {
      ...connectionSecretsOnly,
      optional: isClusterWide,
    });
    if (!isClusterWide) return;
    const connectionChanged = (change: Change<ClusterServiceConnection>) =>
      each((handlers) => handlers.connection(change));
    const keyChanged = (change: Change<Secret>) => each((handlers) => handlers.clusterApiKey(change));
    this.#cluster = {
      connections: reflect(clusterServiceConnectionKind, connectionChanged, {
        parse: (raw) => withKeptMetadata(readable(parseClusterServiceConnection(raw)), noLabels),
        optional: true,
      }),
      resourceNamespace: clusterResourceNamespace,
      apiKeys: reflect(secretKind, keyChanged, ofKeys, [clusterResourceNamespace]),
      namespaces: reflect(namespaceKind, (change) => each((handlers) => handlers.namespace(change)), {
        parse: parseNamespace,
        optional: true,
      }),
    };
  }

  /** The objects that use a connection. */
  *usersOf(namespace: string, name: string, isUser: (user: ConnectionUser) => boolean): Iterable<ConnectionUser> {
    const place = placeOf({ namespace, name });
    yield* this.indexes.users.of(place, isUser);
    yield* this.indexes.branchUsers.of(place, isUser);
  }

  #secretChanged(change: Change<KeptSecret>): void {
    this.indexes.secretsElsewhere.change(change);
    for (const handlers of this.#handlers) handlers.connectionSecret(change);
  }

  #branchChanged(change: Change<Branch>): void {
    this.indexes.branch(change);
    for (const handlers of this.#handlers) handlers.branch(change);
  }

  /** Calls the handlers with each change from now on, until the function that it returns is called. */
  subscribe(handlers: ChangeHandlers): () => void {
    this.#handlers.add(handlers);
    return () => this.#handlers.delete(handlers);
  }

  /** The connections of both kinds. */
  get connections(): readonly Connection[] {
    return [...this.#connections.list(), ...this.connectionsWithin("")];
  }

  /** Of a namespace; of an empty one: those of the cluster. */
  connectionsWithin(namespace: string): readonly Connection[] {
    return namespace === "" ? (this.#cluster?.connections.list() ?? []) : this.#connections.within(namespace);
  }

  connection(namespace: string, name: string): Connection | undefined {
    if (namespace === "") return this.#cluster?.connections.get(undefined, name);
    return this.#connections.get(namespace, name);
  }

  connectionByUID(uid: string): Connection | undefined {
    return this.#connections.byUid(uid) ?? this.#cluster?.connections.byUid(uid);
  }

  /** The Secret that a connection in this namespace names; of an empty one: a connection of the cluster. */
  apiKey(namespace: string, name: string): Secret | undefined {
    if (namespace !== "") return this.apiKeys.get(namespace, name);
    return this.#cluster?.apiKeys.get(this.#cluster.resourceNamespace, name);
  }

  /** True if the operator has no right to the connection Secrets that it would write. */
  get lacksSecrets(): boolean {
    return this.connectionSecrets.isReady() && !this.connectionSecrets.isServed();
  }

  /** True if the operator has no right to the Secrets that connections of this namespace name. */
  lacksApiKeys(namespace: string): boolean {
    const keys = namespace === "" ? this.#cluster?.apiKeys : this.apiKeys;
    return keys !== undefined && keys.isReady() && !keys.isServed();
  }

  /** The labels of a namespace; `unread` if none can be read. */
  namespaceLabels(name: string): Readonly<Record<string, string>> | "unknown" | "unread" {
    const namespaces = this.#cluster?.namespaces;
    if (namespaces?.isServed() !== true) return "unread";
    const found = namespaces.get(undefined, name);
    return found === undefined ? "unknown" : (found.metadata.labels ?? {});
  }

  /** The namespaces, as far as they can be seen. */
  get namespaces(): readonly Namespace[] {
    return this.#cluster?.namespaces.list() ?? [];
  }

  /** The state of ClusterServiceConnections; `unserved` without their CRD, or the right to read them. */
  get clusterConnections(): "served" | "unserved" | "notWatched" {
    if (this.#cluster === undefined) return "notWatched";
    return this.#cluster.connections.isServed() ? "served" : "unserved";
  }

  get #byKind() {
    return [
      [computeKind, this.computes],
      [serviceConnectionKind, this.#connections],
      [computePoolKind, this.pools],
      [branchKind, this.branches],
      [secretKind, this.apiKeys],
      [secretKind, this.connectionSecrets],
      ...(this.#cluster === undefined
        ? []
        : ([
            [clusterServiceConnectionKind, this.#cluster.connections],
            [secretKind, this.#cluster.apiKeys],
            [namespaceKind, this.#cluster.namespaces],
          ] as const)),
    ] as const;
  }

  /** Applies the API server's answer to a write of this process before the watch delivers it. */
  answered({ group, plural }: ResourceKind, object: KubeObject, { created }: { created: boolean }): void {
    for (const [kind, reflectors] of this.#byKind) {
      if (kind.group === group && kind.plural === plural) reflectors.answered(object, created);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#byKind.map(([, reflectors]) => reflectors.run(signal)));
  }

  /** The kinds without a complete list yet. */
  unsynced(): string[] {
    const unserved = this.#byKind.filter(([, reflectors]) => !reflectors.isReady());
    return [...new Set(unserved.map(([{ kind }]) => kind))];
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#byKind.map(([, reflectors]) => reflectors.whenSynced(signal)));
  }

  lastEventAgeMs(): Record<string, number> {
    const ages = new Map<string, number>();
    for (const [{ kind }, reflectors] of this.#byKind) {
      // Kinds that cannot be listed have no events: their silence is no news.
      if (reflectors.isReady() && !reflectors.isServed()) continue;
      ages.set(kind, Math.max(ages.get(kind) ?? 0, reflectors.lastEventAgeMs()));
    }
    return Object.fromEntries(ages);
  }
}

/** An installation from before this kind lacks its CRD, or the right to it. */
const branchesParsed = (kept: KeptLabels): Partial<ReflectorOptions<Branch>> => ({
  parse: (raw) => withKeptMetadata(readable(parseBranch(raw)), kept),
  optional: true,
});

/** Throws for an object that only CRDs of another version allow: the reflector logs and skips it. */
function readable<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new OperationalError(parsed.problem);
  return parsed.value;
}
