import type { ClusterClient, ListSelection } from "../kube/client.ts";
import { type ClusterError, isForbidden, isNotFound, isRefusal } from "../kube/errors.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import { listAll } from "../kube/list-all.ts";
import { isObjectOf, type ResourceKind } from "../kube/objects.ts";
import { onError } from "../life/on-error.ts";
import { isBeingDeleted, isHeldBy, type KubeObject, type Parsed } from "../objects/object.ts";
import { asRecord } from "../objects/record.ts";
import { branchKind, parseBranch } from "../resources/branch.ts";
import { type Connection, isOfCluster, kindOf } from "../resources/cluster-service-connection.ts";
import { computeKind, parseCompute } from "../resources/compute.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import { API_KEY_SECRET_TYPE, finalizers } from "../resources/names.ts";
import { namespaceKind, parseNamespace } from "../resources/namespace.ts";
import { type Secret, secretKind } from "../resources/secret.ts";
import { parseServiceConnection, serviceConnectionKind } from "../resources/service-connection.ts";
import { type NamespaceLabels, secretOf } from "./read-account.ts";

const ofApiKeys: ListSelection = { fieldSelector: `type=${API_KEY_SECRET_TYPE}` };

export interface FinalizersOptions {
  cluster: ClusterClient;
  cache: {
    connectionsOf(namespace: string): readonly Connection[];
    secret(namespace: string, name: string): Secret | undefined;
    secretsOf(namespace: string): readonly Secret[];
    /** The objects that use this connection: there may be thousands, so only as many are read as are needed. */
    usersOf(namespace: string, name: string): Iterable<ConnectionUser>;
    /** True if an object that names a connection counts as its user, by these labels instead of those of the cache. */
    isUser(user: ConnectionUser, labelsOf?: NamespaceLabels): boolean;
  };
  /** Asks the API server whether the CRD of Computes is being deleted, or gone. */
  uninstalling: () => Promise<boolean>;
}

/** `released`: the connection was waiting for its finalizer only, so it is gone now. */
export type FinalizersResult = { kind: "kept" } | { kind: "released" } | { kind: "refused"; error: ClusterError };

/**
 * The finalizers on connections and their Secrets while Computes use them.
 *
 * Expected flow: each reconcile of a connection calls `protect`; when the connection is gone, `releaseSecrets` follows.
 * Guarantees: connection and Secret carry the finalizer while a Compute names the connection, or while the endpoint of
 * a deleted Compute remains. It is removed only after a list from the API server, not the cache, shows no user; first
 * from the Secret, so that a crash in between leaves the connection, whose next reconcile finishes.
 * Assumptions: other shards do the same; each write is guarded by uid and, for a removal, resourceVersion.
 */
export class Finalizers {
  readonly #options: FinalizersOptions;
  /**
   * Objects of the cache whose finalizer a removal was sent for. If it gets no answer, only a read from the API server
   * tells whether the finalizer stands: the cache may lag.
   */
  readonly #released = new WeakSet<KubeObject>();

  constructor(options: FinalizersOptions) {
    this.#options = options;
  }

  /** Adds or removes the finalizers of a connection and the Secrets of its namespace. */
  async protect(connection: Connection): Promise<FinalizersResult> {
    try {
      return { kind: await this.#protect(connection) };
    } catch (error) {
      return onError<FinalizersResult>(error, kindOf(connection), connection, {
        refused: (refusal) => ({ kind: "refused", error: refusal.error }),
      });
    }
  }

  async #protect(connection: Connection): Promise<"kept" | "released"> {
    const namespace = connection.metadata.namespace ?? "";
    if (this.#isInUse(connection)) {
      const secrets = this.#secretOf(connection);
      const complete = [connection, ...secrets].every((object) => this.#hasFinalizer(object));
      // The cache may lag: without users, another shard would remove the finalizer again and again.
      if (!complete && !(await this.#isProvedUnused(connection))) {
        await this.#addFinalizer(kindOf(connection), connection);
        for (const secret of secrets) await this.#addFinalizer(secretKind, secret);
      }
    } else if (hasFinalizer(connection) && (await this.#isProvedUnused(connection))) {
      // The Secret first: after a crash in between, the connection is still there and is reconciled again.
      await this.releaseSecrets(namespace, { gone: connection.metadata.uid });
      await this.#removeFinalizer(kindOf(connection), connection);
      // A connection that was waiting for this is deleted now; its watch event triggers the rest.
      if (isBeingDeleted(connection)) return "released";
    }
    await this.releaseSecrets(namespace);
    return "kept";
  }

  /**
   * Removes the finalizer of Secrets that no connection in use names; the connection `gone` needs none. Those of
   * ClusterServiceConnections, whose namespace is empty, have none.
   */
  async releaseSecrets(namespace: string, { gone }: { gone?: string } = {}): Promise<void> {
    if (namespace === "") return;
    const { cache } = this.#options;
    const needed = new Set(
      cache
        .connectionsOf(namespace)
        .filter(({ metadata }) => metadata.uid !== gone)
        .filter((connection) => hasFinalizer(connection) || this.#isInUse(connection))
        .map(({ spec }) => spec.apiKeySecretRef.name),
    );
    // After the connection is gone, nothing triggers the removal from a Secret that the cache does not show yet.
    const secrets = gone === undefined ? cache.secretsOf(namespace) : await this.#now(secretKind, namespace);
    const unneeded = secrets.filter((secret) => hasFinalizer(secret) && !needed.has(secret.metadata.name));
    if (unneeded.length === 0) return;
    // The cache may lag behind a new connection, or a finalizer that another shard has just added.
    const inUse = await this.#secretsInUse(namespace, gone);
    for (const secret of unneeded) {
      if (inUse.has(secret.metadata.name)) continue;
      const cached = cache.secret(namespace, secret.metadata.name);
      if (cached !== undefined) this.#released.add(cached);
      await this.#removeFinalizer(secretKind, secret);
    }
  }

  /** The objects of a kind as the API server has them: no role allows a single Secret to be read. */
  async #now<T extends KubeObject>(kind: ResourceKind<T>, namespace: string | undefined): Promise<T[]> {
    const items = await this.#listed(kind, namespace, kind.plural === secretKind.plural ? ofApiKeys : {});
    return items.filter((item) => isObjectOf(kind, item));
  }

  /** The Secrets of connections in use, read from the API server; without the connection `gone`. */
  async #secretsInUse(namespace: string, gone: string | undefined): Promise<Set<string>> {
    const connections = await this.#listed(serviceConnectionKind, namespace);
    const users = await this.#users(namespace);
    const inUse = new Set<string>();
    for (const item of connections) {
      const parsed = parseServiceConnection(item);
      // An unreadable connection may name any Secret.
      if (!parsed.ok) return new Set(this.#options.cache.secretsOf(namespace).map(({ metadata }) => metadata.name));
      const { metadata, spec } = parsed.value;
      if (metadata.uid === gone) continue;
      const isNamed = users.some(({ raw }) => names(raw, parsed.value));
      if (hasFinalizer(parsed.value) || isNamed) inUse.add(spec.apiKeySecretRef.name);
    }
    return inUse;
  }

  /** True if a further user changes nothing: both carry the finalizer, and the deletion of neither waits for users. */
  isSettled(connection: Connection): boolean {
    const objects = [connection, ...this.#secretOf(connection)];
    return objects.every((object) => this.#hasFinalizer(object) && !isBeingDeleted(object));
  }

  #hasFinalizer(object: KubeObject): boolean {
    return hasFinalizer(object) && !this.#released.has(object);
  }

  /** The Secret that carries the finalizer besides its connection. */
  #secretOf(connection: Connection): Secret[] {
    const secret = secretOf(connection, this.#options.cache);
    return secret === undefined || isOfCluster(connection) ? [] : [secret];
  }

  #isInUse({ metadata }: Connection): boolean {
    const [user] = this.#options.cache.usersOf(metadata.namespace ?? "", metadata.name);
    return user !== undefined;
  }

  /** The cache may lag behind a new user or a label, so the API server is asked before a finalizer is removed. */
  async #isProvedUnused(connection: Connection): Promise<boolean> {
    const users = await this.#users(connection.metadata.namespace);
    const named = users.filter(({ raw }) => names(raw, connection));
    const labelsOf = named.length > 0 && isOfCluster(connection) ? await this.#labelsNow() : undefined;
    return !named.some(({ raw, parse }) => {
      const user = parse(raw);
      // An unreadable object may be a user.
      return !user.ok || this.#options.cache.isUser(user.value, labelsOf);
    });
  }

  /** The Computes and Branches of a namespace, or of all, as the API server has them. */
  async #users(namespace: string | undefined) {
    const parseAny: (raw: unknown) => Parsed<ConnectionUser> = parseCompute;
    const computes = (await this.#listed(computeKind, namespace)).map((raw) => ({ raw, parse: parseAny }));
    const parseOther: (raw: unknown) => Parsed<ConnectionUser> = parseBranch;
    return [...computes, ...(await this.#listed(branchKind, namespace)).map((raw) => ({ raw, parse: parseOther }))];
  }

  /** The labels of all namespaces; `undefined` without the right to read them, of which the cache knows. */
  async #labelsNow(): Promise<NamespaceLabels | undefined> {
    const { cluster } = this.#options;
    try {
      const { items } = await listAll(cluster, namespaceKind, { limit: 500 }, parseNamespace);
      const labels = new Map(items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}]));
      return (namespace) => labels.get(namespace) ?? "unknown";
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return undefined;
    }
  }

  /** Lists a kind in a namespace, or in all, from the API server; empty if the CRDs are gone. */
  async #listed(kind: ResourceKind, namespace: string | undefined, only: ListSelection = {}): Promise<unknown[]> {
    const { cluster, uninstalling } = this.#options;
    try {
      return (await listAll(cluster, kind, { ...only, namespace, limit: 500 }, (item) => item)).items;
    } catch (error) {
      // An older installation lacks the CRD of Branches, or the right to it: then this process keeps none.
      const isOfBranches = kind.plural === branchKind.plural;
      if (isOfBranches && (isNotFound(error) || isForbidden(error))) return [];
      if (!isNotFound(error) || !(await uninstalling())) throw error;
      return [];
    }
  }

  async #addFinalizer<T extends KubeObject>(kind: ResourceKind<T>, object: T): Promise<void> {
    if (this.#hasFinalizer(object) || isBeingDeleted(object)) return;
    const { uid, namespace } = object.metadata;
    const isUncertain = this.#released.has(object);
    const latest = isUncertain
      ? (await this.#now(kind, namespace)).find(({ metadata }) => metadata.uid === uid)
      : object;
    if (latest === undefined) return;
    const patch = guardedPatch(latest).addFinalizer(finalizers.inUse);
    if (patch.isEmpty) this.#released.delete(object);
    else await this.#options.cluster.patch(kind, object.metadata, patch.ops());
  }

  async #removeFinalizer<T extends KubeObject>(kind: ResourceKind<T>, object: T): Promise<void> {
    const patch = guardedPatch(object, { resourceVersion: true }).removeFinalizer(finalizers.inUse);
    this.#released.add(object);
    await this.#options.cluster.patch(kind, object.metadata, patch.ops());
  }
}

/** True if the object has the finalizer of this file. */
export function hasFinalizer(object: Pick<KubeObject, "metadata">): boolean {
  return isHeldBy(object, finalizers.inUse);
}

/** True if a Compute as the API server sends it names the connection, and from a place that may. */
function names(raw: unknown, connection: Connection): boolean {
  const { kind = "ServiceConnection", name = "default" } = asRecord(asRecord(asRecord(raw).spec).connectionRef);
  return name === connection.metadata.name && kind === kindOf(connection).kind;
}
