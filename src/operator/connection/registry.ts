import { isBeingDeleted, type KubeObject } from "../objects/object.ts";
import { WriteWindows } from "../project/write-window.ts";
import { allowsProject, type Connection, isOfCluster, labelOf } from "../resources/cluster-service-connection.ts";
import { type ConnectionUser, connectionKeyOf } from "../resources/connection-user.ts";
import { secondsOf } from "../resources/duration.ts";
import type { Secret } from "../resources/secret.ts";
import { memoize } from "../runtime/caches.ts";
import { type Account, accountFingerprint } from "../service-client/account.ts";
import { hasFinalizer } from "./finalizers.ts";
import { connectionNotFound, connectionNotReady, notAllowed, unauthorized } from "./messages.ts";
import {
  type NamespaceLabels,
  namespaceAccess,
  normalisedBaseURL,
  type Resolved,
  resolve,
  secretOf,
} from "./read-account.ts";
import { Session, type SessionLimits, type SessionOptions } from "./session.ts";

/** The connection that a Compute names, as the Compute may use it. */
export type ConnectionView =
  | { kind: "open"; session: Session; connection: Connection; terminating: boolean }
  | { kind: "closed"; reason: "ConnectionNotFound" | "ConnectionNotReady" | "Unauthorized"; message: string }
  /** Not reconciled yet: the Compute is enqueued when it is. */
  | { kind: "pending" };

/** Read access to the informers. */
export interface ConnectionCache {
  /** With an empty namespace: a ClusterServiceConnection. */
  connection(namespace: string, name: string): Connection | undefined;
  /** With an empty namespace: a Secret of the namespace that those of ClusterServiceConnections lie in. */
  secret(namespace: string, name: string): Secret | undefined;
  /** True if the operator has no right to the Secrets that connections of this namespace name. */
  lacksSecrets(namespace: string): boolean;
  namespaceLabels: NamespaceLabels;
  /** The state of ClusterServiceConnections: `served` if they can be read. */
  clusterConnections(): keyof typeof connectionNotReady.ofCluster | "served";
}

export interface ConnectionsOptions extends Omit<SessionOptions, "account" | "windows" | "onChange"> {
  cache: ConnectionCache;
  allowedBaseURLs: readonly string[];
  /** The share of each budget that this process may use, above 0 and up to 1: shards divide the budget. */
  budgetShare: number;
  /** The namespace of ClusterServiceConnections' Secrets. */
  clusterResourceNamespace?: string | undefined;
  /** Enqueues these connections. */
  enqueueConnections: (uids: Iterable<string>) => void;
}

const normalisedOf = memoize(({ spec }: Connection) => normalisedBaseURL(spec.baseURL));

/**
 * The sessions of all connections. Connections with the same base URL, key, authority and organization share one.
 *
 * Expected flow: the connection's reconcile calls `resolved`, then `join` or `quit`; a Compute's reconcile calls
 * `view`.
 * Guarantees: a session exists while a connection uses it, and stops with the last one. A changed key or base URL is
 * another session, and `view` shows none until the connection has joined it. `view` is open only while the finalizers
 * of connection and Secret are in place, or nothing can be added to them any more.
 * Assumptions: objects of the cache are immutable and replaced by the watch.
 */
export class SessionRegistry {
  readonly #options: ConnectionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #windows: WriteWindows;
  /** The session of each connection, by uid. */
  readonly #joined = new Map<string, string>();
  /** Cached results of `resolve`, with the Secret that each was made from. */
  readonly #resolved = new WeakMap<Connection, { secret: Secret | undefined; resolved: Resolved }>();
  /** Reason why the API server refused the finalizers of a connection or its Secret, by uid of the connection. */
  readonly #finalizerRefusals = new Map<string, string>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#windows = new WriteWindows(options.clock);
  }

  /** All sessions in use. */
  get sessions(): Iterable<Session> {
    return this.#sessions.values();
  }

  /** The session that a connection uses. */
  sessionOf({ metadata: { uid } }: Connection): Session | undefined {
    return this.#sessions.get(this.#joined.get(uid) ?? "");
  }

  resolved(connection: Connection): Resolved {
    const { cache, allowedBaseURLs } = this.#options;
    const refusal = this.#finalizerRefusals.get(connection.metadata.uid);
    if (refusal !== undefined && !this.isProtected(connection)) {
      return { kind: "refused", reason: "NotAllowed", message: refusal };
    }
    const { namespace = "" } = connection.metadata;
    if (cache.lacksSecrets(namespace)) return { kind: "refused", reason: "NotAllowed", message: notAllowed.secrets };
    const secret = secretOf(connection, cache);
    const known = this.#resolved.get(connection);
    if (known !== undefined && known.secret === secret) return known.resolved;
    const resolved = resolve(connection, secret, allowedBaseURLs, this.#options.clusterResourceNamespace);
    this.#resolved.set(connection, { secret, resolved });
    return resolved;
  }

  /** The connection that a Compute names. */
  #named(compute: ConnectionUser): Connection | undefined {
    const { namespace, name } = connectionKeyOf(compute);
    return this.#options.cache.connection(namespace, name);
  }

  /**
   * True if a Compute counts as a user of the connection that it names: of a ClusterServiceConnection only if its
   * namespace has access, or its endpoint was seen through it once.
   */
  isUser(compute: ConnectionUser, labelsOf: NamespaceLabels = this.#options.cache.namespaceLabels): boolean {
    const connection = this.#named(compute);
    if (connection === undefined) return true;
    const { name } = connection.metadata;
    const isLinked = isOfCluster(connection) && compute.status.clusterConnection === name;
    return isLinked || namespaceAccess(connection, compute, labelsOf) === "granted";
  }

  /** True if the connection that a Compute names may still be used by its namespace. */
  isGranted(compute: ConnectionUser): boolean {
    const connection = this.#named(compute);
    if (connection === undefined) return false;
    return namespaceAccess(connection, compute, this.#options.cache.namespaceLabels) === "granted";
  }

  /** The normalised base URL of a Compute's connection, for claims; also if the connection cannot be used. */
  baseURLOf(compute: ConnectionUser): string | undefined {
    const connection = this.#named(compute);
    return connection && this.isUser(compute) ? normalisedOf(connection) : undefined;
  }

  /** True if the service of a Compute's connection did not answer the last probe. */
  isUnreachable(compute: ConnectionUser): boolean {
    const connection = this.#named(compute);
    return connection !== undefined && this.sessionOf(connection)?.state.health.kind === "unreachable";
  }

  /** The fingerprint of the connection's present base URL and key if they have listed the project, refused or not. */
  reachedThrough(compute: ConnectionUser): string | undefined {
    const connection = this.#named(compute);
    const resolved = connection && this.resolved(connection);
    if (connection === undefined || resolved?.kind !== "account") return undefined;
    const id = idOf(resolved.account);
    const session = this.#joined.get(connection.metadata.uid) === id ? this.#sessions.get(id) : undefined;
    return session?.listers.get(compute.spec.projectID)?.listing === undefined ? undefined : session.fingerprint;
  }

  view(compute: ConnectionUser): ConnectionView {
    const { cache } = this.#options;
    const { projectID, connectionRef } = compute.spec;
    const notReady = (message: string): ConnectionView => ({ kind: "closed", reason: "ConnectionNotReady", message });
    const connection = this.#named(compute);
    if (connection === undefined) {
      const { namespace = "" } = compute.metadata;
      if (connectionRef.kind === "ServiceConnection") {
        const message = connectionNotFound.inNamespace(connectionRef.name, namespace);
        return { kind: "closed", reason: "ConnectionNotFound", message };
      }
      const readable = cache.clusterConnections();
      if (readable !== "served") return notReady(connectionNotReady.ofCluster[readable]);
      return {
        kind: "closed",
        reason: "ConnectionNotFound",
        message: connectionNotFound.inCluster(connectionRef.name),
      };
    }
    const access = namespaceAccess(connection, compute, cache.namespaceLabels);
    if (access === "unknown") return { kind: "pending" };
    if (access !== "granted") return notReady(access.refused);
    const label = labelOf(connection);
    const resolved = this.resolved(connection);
    if (resolved.kind === "refused") return notReady(connectionNotReady.refused(label, resolved.message));
    if (!allowsProject(connection, projectID)) return notReady(connectionNotReady.projectNotAllowed(label, projectID));
    if (!this.isProtected(connection)) return { kind: "pending" };
    const id = idOf(resolved.account);
    const session = this.#joined.get(connection.metadata.uid) === id ? this.#sessions.get(id) : undefined;
    if (session === undefined) return { kind: "pending" };
    const { health } = session.state;
    if (health.kind === "unknown") return { kind: "pending" };
    if (health.kind === "unauthorized") {
      const message = unauthorized.compute(label, connection.spec.apiKeySecretRef.name, health.message);
      return { kind: "closed", reason: "Unauthorized", message };
    }
    return { kind: "open", session, connection, terminating: isBeingDeleted(connection) };
  }

  /** The connection uses the session of this account, which is created if needed, and leaves its previous one. */
  join(connection: Connection, account: Account): Session {
    const { uid } = connection.metadata;
    const id = idOf(account);
    if (this.#joined.get(uid) !== id) this.quit(uid);
    const limits = this.#limitsOf(connection);
    let session = this.#sessions.get(id);
    if (session === undefined) {
      const onChange = () => this.#options.enqueueConnections(this.#usersOf(id));
      session = new Session({ ...this.#options, account, windows: this.#windows, onChange }, uid, limits);
      this.#sessions.set(id, session);
    } else session.join(uid, limits);
    this.#joined.set(uid, id);
    return session;
  }

  /** The connection is deleted or cannot be used any more. */
  quit(uid: string): void {
    const id = this.#joined.get(uid);
    if (id === undefined) return;
    this.#joined.delete(uid);
    const session = this.#sessions.get(id);
    if (session === undefined || session.quit(uid)) return;
    session.stop();
    this.#sessions.delete(id);
  }

  /** Notes why the API server refuses the finalizers of a connection or its Secret; `undefined`: it does not. */
  setFinalizerRefusal(uid: string, message: string | undefined): void {
    if (message === undefined) this.#finalizerRefusals.delete(uid);
    else this.#finalizerRefusals.set(uid, message);
  }

  /**
   * Connection and Secret must outlive the endpoints created through them: without finalizers, nothing is sent. The
   * Secret of a ClusterServiceConnection is out of reach of who uses it, and carries none.
   */
  isProtected(connection: Connection): boolean {
    const secret = secretOf(connection, this.#options.cache);
    const isHeld = (object: KubeObject) => hasFinalizer(object) || isBeingDeleted(object);
    return isHeld(connection) && secret !== undefined && (isOfCluster(connection) || isHeld(secret));
  }

  stop(): void {
    for (const session of this.#sessions.values()) session.stop();
  }

  #limitsOf({ spec }: Connection): SessionLimits {
    const { budgetShare } = this.#options;
    return {
      limits: {
        perMinute: spec.requestBudget.perMinute * budgetShare,
        burst: Math.max(1, Math.floor(spec.requestBudget.burst * budgetShare)),
      },
      refreshIntervalMs: (secondsOf(spec.refreshInterval) ?? 30) * 1000,
    };
  }

  #usersOf(id: string): string[] {
    return [...this.#joined].filter(([, joined]) => joined === id).map(([uid]) => uid);
  }
}

function idOf(account: Account): string {
  return JSON.stringify([accountFingerprint(account), account.caBundle ?? "", account.organizationID ?? ""]);
}
