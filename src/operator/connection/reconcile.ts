import type { ClusterClient, ListSelection } from "../cluster/client.ts";
import { isNotFound } from "../cluster/errors.ts";
import type { RecordEvent } from "../cluster/event-record.ts";
import { guardedPatch } from "../cluster/json-patch.ts";
import { listAll } from "../cluster/list-all.ts";
import { isObjectOf, type ResourceKind } from "../cluster/objects.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { conditionOf, timestamp } from "../resources/conditions-of.ts";
import { sameJSON } from "../resources/equal.ts";
import { API_KEY_SECRET_TYPE, finalizers } from "../resources/names.ts";
import type { KubeObject } from "../resources/object.ts";
import { asRecord } from "../resources/record.ts";
import {
  parseServiceConnection,
  type ServiceConnection,
  type ServiceConnectionStatus,
  serviceConnectionKind,
} from "../resources/service-connection.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Connections } from "./connections.ts";
import { type Leaving, leavingOf } from "./leaving.ts";
import { type Resolved, type Secret, secretKind } from "./resolve.ts";
import type { Session } from "./session.ts";
import { isWhole, ownWord, statusOf } from "./status.ts";

export interface ConnectionReconcilerOptions {
  cluster: ClusterClient;
  clock: Clock;
  connections: Connections;
  cache: {
    connectionByUID(uid: string): ServiceConnection | undefined;
    connectionsOf(namespace: string): readonly ServiceConnection[];
    secret(namespace: string, name: string): Secret | undefined;
    secretsOf(namespace: string): readonly Secret[];
    /** The Computes that name this connection. */
    usersOf(namespace: string, name: string): readonly Compute[];
    /** Those that are gone and left something behind that is still to be deleted through it. */
    departedFrom(namespace: string, name: string): readonly Compute[];
  };
  /** Asks the API server whether the CRD of Computes is being deleted, or gone. */
  uninstalling: () => Promise<boolean>;
  /** Has the Computes that use this connection looked at again. */
  wakeUsers: (namespace: string, name: string) => void;
  event: RecordEvent;
  log: Logger;
}

/** Keeps one ServiceConnection: its session, its finalizers while in use, its status. */
export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;
  /** What Computes were last told, by uid: they are woken when it changes. */
  readonly #told = new Map<string, { namespace: string; name: string; news: string }>();

  /**
   * What this process last said of each, by uid. Shards report on one connection and may see it differently: whoever
   * answered the other's word with its own would never end. `unseen` is the version that it made, until the watch has
   * brought it: what the cache has is older.
   */
  readonly #said = new Map<string, { word: string; unseen?: string }>();
  /** The reason that the log last told of each, by uid. */
  readonly #logged = new Map<string, string>();

  constructor(options: ConnectionReconcilerOptions) {
    this.#options = options;
  }

  /** The watch brought one: should it be gone before a pass looks at it, what it guarded is known all the same. */
  seen({ metadata: { uid, name, namespace = "", resourceVersion } }: ServiceConnection): void {
    const said = this.#said.get(uid);
    if (said?.unseen === resourceVersion) delete said.unseen;
    if (!this.#told.has(uid)) this.#told.set(uid, { namespace, name, news: "" });
  }

  /**
   * The watch brought a Secret: answers whether a pass over its uid is due. One that is being deleted and still guarded is
   * let go by that, should the connection that it was guarded for be gone without a word.
   */
  secretSeen(secret: Secret): boolean {
    const { uid, name, namespace = "", deletionTimestamp } = secret.metadata;
    if (deletionTimestamp === undefined || !hasFinalizer(secret)) return false;
    this.#told.set(uid, { namespace, name, news: "" });
    return true;
  }

  /** Answers with the milliseconds until the next look, where one is due without a change. */
  async reconcile(uid: string): Promise<number | undefined> {
    const { cache, connections } = this.#options;
    const connection = cache.connectionByUID(uid);
    if (connection === undefined) {
      connections.quit(uid);
      const told = this.#told.get(uid);
      if (told !== undefined) {
        await this.#releaseSecrets(told.namespace, { gone: uid });
        this.#options.wakeUsers(told.namespace, told.name);
      }
      this.#told.delete(uid);
      this.#said.delete(uid);
      this.#logged.delete(uid);
      return undefined;
    }
    if ((await this.#protect(connection)) === "gone") {
      const { name, namespace = "" } = connection.metadata;
      this.#told.set(uid, { namespace, name, news: "" });
      return undefined;
    }
    const resolved = connections.resolved(connection);
    const session = this.#session(connection, resolved);
    await this.#report(connection, resolved, session);
    this.#tell(connection, resolved, session);
    return session?.probeDueIn();
  }

  #session(connection: ServiceConnection, resolved: Resolved): Session | undefined {
    const { connections } = this.#options;
    if (resolved.kind === "refused") {
      connections.quit(connection.metadata.uid);
      return undefined;
    }
    const session = connections.join(connection, resolved.account);
    session.probe();
    return session;
  }

  /** While a Compute uses the connection, it and its Secret may not go: the computes could not be deleted any more. */
  async #protect(connection: ServiceConnection): Promise<"stays" | "gone"> {
    const { cache } = this.#options;
    const namespace = connection.metadata.namespace ?? "";
    if (this.#inUse(connection)) {
      const secret = cache.secret(namespace, connection.spec.apiKeySecretRef.name);
      const isGuarded = hasFinalizer(connection) && (secret === undefined || hasFinalizer(secret));
      // The cache may lag behind the last user's end too: another shard would take off what is set here, again and again.
      if (!isGuarded && !(await this.#provedUnused(connection))) {
        await this.#addFinalizer(serviceConnectionKind, connection);
        if (secret !== undefined) await this.#addFinalizer(secretKind, secret);
      }
    } else if (hasFinalizer(connection) && !this.#isKept(connection) && (await this.#provedUnused(connection))) {
      // The Secret first: whoever comes after a crash in between finds the connection, and comes back here.
      await this.#releaseSecrets(namespace, { gone: connection.metadata.uid });
      await this.#removeFinalizer(serviceConnectionKind, connection);
      // One that was only waiting for that goes, and its watch event brings the rest.
      if (connection.metadata.deletionTimestamp !== undefined) return "gone";
    }
    await this.#releaseSecrets(namespace);
    return "stays";
  }

  /** Lets go of the Secrets that no connection in use names any more; one that is gone, or about to go, needs none. */
  async #releaseSecrets(namespace: string, { gone }: { gone?: string } = {}): Promise<void> {
    const { cache } = this.#options;
    const needed = new Set(
      cache
        .connectionsOf(namespace)
        .filter(({ metadata }) => metadata.uid !== gone)
        .filter((connection) => this.#inUse(connection) || hasFinalizer(connection))
        .map(({ spec }) => spec.apiKeySecretRef.name),
    );
    // Once the connection is gone nobody comes back for a guard that the cache does not show yet.
    const secrets = gone === undefined ? cache.secretsOf(namespace) : await this.#secretsNow(namespace);
    const unneeded = secrets.filter((secret) => hasFinalizer(secret) && !needed.has(secret.metadata.name));
    if (unneeded.length === 0) return;
    // The cache may lag behind a connection that was just made, or that another shard has just guarded.
    const inUse = await this.#secretsInUse(namespace, gone);
    for (const secret of unneeded) {
      if (!inUse.has(secret.metadata.name)) await this.#removeFinalizer(secretKind, secret);
    }
  }

  async #secretsNow(namespace: string): Promise<Secret[]> {
    const items = await this.#listed(secretKind, namespace, { fieldSelector: `type=${API_KEY_SECRET_TYPE}` });
    return items.filter((item) => isObjectOf(secretKind, item));
  }

  /** The Secrets of the connections that are in use as the API server has it, but for one that goes. */
  async #secretsInUse(namespace: string, gone: string | undefined): Promise<Set<string>> {
    const connections = await this.#listed(serviceConnectionKind, namespace);
    const named = new Set((await this.#listed(computeKind, namespace)).map(connectionNameOf));
    const inUse = new Set<string>();
    for (const item of connections) {
      const parsed = parseServiceConnection(item);
      // One that cannot be read may name any of them.
      if (!parsed.ok) return new Set(this.#options.cache.secretsOf(namespace).map(({ metadata }) => metadata.name));
      const { metadata, spec } = parsed.value;
      if (metadata.uid === gone) continue;
      if (hasFinalizer(parsed.value) || named.has(metadata.name)) inUse.add(spec.apiKeySecretRef.name);
    }
    return inUse;
  }

  #inUse(connection: ServiceConnection): boolean {
    return this.#usersOf(connection).length > 0;
  }

  /** For what has departed the guard stays, and is not set anew: another shard, knowing nothing of it, takes it off. */
  #isKept(connection: ServiceConnection): boolean {
    return this.#departedFrom(connection).length > 0;
  }

  #departedFrom({ metadata }: ServiceConnection): readonly Compute[] {
    return this.#options.cache.departedFrom(metadata.namespace ?? "", metadata.name);
  }

  #usersOf({ metadata }: ServiceConnection): readonly Compute[] {
    return this.#options.cache.usersOf(metadata.namespace ?? "", metadata.name);
  }

  /** The cache may lag behind a Compute that was just made: the API server is asked before the guard is dropped. */
  async #provedUnused({ metadata }: ServiceConnection): Promise<boolean> {
    const computes = await this.#listed(computeKind, metadata.namespace ?? "");
    return !computes.some((item) => connectionNameOf(item) === metadata.name);
  }

  /** All of a kind in a namespace, from the API server itself. Where the CRDs are gone, all of that is. */
  async #listed(kind: ResourceKind, namespace: string, only: ListSelection = {}): Promise<unknown[]> {
    const { cluster, uninstalling } = this.#options;
    try {
      return (await listAll(cluster, kind, { ...only, namespace, limit: 500 })).items;
    } catch (error) {
      if (!isNotFound(error) || !(await uninstalling())) throw error;
      return [];
    }
  }

  async #addFinalizer<T extends KubeObject>(kind: ResourceKind<T>, object: T): Promise<void> {
    if (hasFinalizer(object) || object.metadata.deletionTimestamp !== undefined) return;
    const patch = guardedPatch(object).addFinalizer(finalizers.inUse);
    await this.#options.cluster.patch(kind, object.metadata, patch.ops());
  }

  async #removeFinalizer<T extends KubeObject>(kind: ResourceKind<T>, object: T): Promise<void> {
    const patch = guardedPatch(object, { resourceVersion: true }).removeFinalizer(finalizers.inUse);
    await this.#options.cluster.patch(kind, object.metadata, patch.ops());
  }

  async #report(connection: ServiceConnection, resolved: Resolved, session: Session | undefined): Promise<void> {
    const { clock, cluster, cache } = this.#options;
    const latest = cache.connectionByUID(connection.metadata.uid) ?? connection;
    const secret = cache.secret(latest.metadata.namespace ?? "", latest.spec.apiKeySecretRef.name);
    const leaving = leavingOf(latest, secret, [...this.#usersOf(latest), ...this.#departedFrom(latest)]);
    const status = statusOf(latest, resolved, session, leaving, timestamp(clock.now()));
    const { uid } = latest.metadata;
    if (session?.health.kind !== "unknown") this.#logTurn(latest, status);
    const word = ownWord(status, session);
    const said = this.#said.get(uid);
    const stands = said?.unseen === undefined && sameJSON(status, latest.status);
    if (stands || (said?.word === word && isWhole(latest))) {
      this.#said.set(uid, { ...said, word });
      return;
    }
    const patch = guardedPatch(latest).setStatus(status).ops();
    const { metadata } = await cluster.patch(serviceConnectionKind, latest.metadata, patch, { subresource: "status" });
    const isSeen = cache.connectionByUID(uid)?.metadata.resourceVersion === metadata.resourceVersion;
    this.#said.set(uid, isSeen ? { word } : { word, unseen: metadata.resourceVersion });
    this.#warn(leaving, latest, secret);
  }

  /** One line where a service goes away, refuses or comes back, however many Computes it has; none while all is well. */
  #logTurn({ metadata }: ServiceConnection, status: ServiceConnectionStatus): void {
    const ready = conditionOf(status, "Ready");
    if (ready === undefined || ready.reason === (this.#logged.get(metadata.uid) ?? "Authenticated")) return;
    this.#logged.set(metadata.uid, ready.reason);
    const fields = { namespace: metadata.namespace, connection: metadata.name, reason: ready.reason };
    this.#options.log[ready.status === "True" ? "info" : "warn"](fields, ready.message);
  }

  /** What waits for a person is told on the very object that they deleted, once. */
  #warn(leaving: Leaving | undefined, connection: ServiceConnection, secret: Secret | undefined): void {
    if (leaving === undefined || leaving.endsByItself) return;
    const before = conditionOf(connection.status, "Ready")?.message;
    if (before?.startsWith(leaving.message.slice(0, leaving.message.indexOf(":") + 1)) === true) return;
    const note = { type: "Warning", reason: "Deleting", message: leaving.message } as const;
    if (leaving.what === "ServiceConnection") this.#options.event(serviceConnectionKind, connection, note);
    else if (secret !== undefined) this.#options.event(secretKind, secret, note);
  }

  /** Wakes the Computes where what they may do through the connection has changed. */
  #tell(connection: ServiceConnection, resolved: Resolved, session: Session | undefined): void {
    const { uid, name, namespace = "" } = connection.metadata;
    const { health } = session ?? { health: undefined };
    const news = JSON.stringify([
      session?.through ?? (resolved.kind === "refused" ? resolved.message : ""),
      health?.kind === "unreachable" ? "reachable" : health?.kind,
      connection.metadata.deletionTimestamp !== undefined,
      connection.spec.allowedProjects,
      this.#options.connections.isProtected(connection),
    ]);
    const changed = this.#told.get(uid)?.news !== news;
    this.#told.set(uid, { namespace, name, news });
    if (changed) this.#options.wakeUsers(namespace, name);
  }
}

function hasFinalizer({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(finalizers.inUse) === true;
}

function connectionNameOf(raw: unknown): string | undefined {
  const { name } = asRecord(asRecord(asRecord(raw).spec).connectionRef);
  return typeof name === "string" ? name : "default";
}
