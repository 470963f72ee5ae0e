import { secondsOf } from "../resources/duration.ts";
import type { KubeObject } from "../resources/object.ts";
import type { ServiceConnection } from "../resources/service-connection.ts";
import { memoize } from "../runtime/memoize.ts";
import { type Account, accountFingerprint } from "../service-client/account.ts";
import { normalisedBaseURL } from "./base-url.ts";
import { hasFinalizer } from "./finalizers.ts";
import { connectionNotFound, connectionNotReady, unauthorized } from "./messages.ts";
import { type Resolved, resolve, type Secret } from "./resolve.ts";
import { Session, type SessionLimits, type SessionOptions } from "./session.ts";

/** The connection that a Compute names, as the Compute may use it. */
export type ConnectionView =
  | { kind: "open"; session: Session; connection: ServiceConnection; terminating: boolean }
  | { kind: "closed"; reason: "ConnectionNotFound" | "ConnectionNotReady" | "Unauthorized"; message: string }
  /** Not reconciled yet: the Compute is enqueued when it is. */
  | { kind: "pending" };

/** Read access to the informers. */
export interface ConnectionCache {
  connection(namespace: string, name: string): ServiceConnection | undefined;
  secret(namespace: string, name: string): Secret | undefined;
}

export interface ConnectionsOptions extends Omit<SessionOptions, "account" | "onChange"> {
  cache: ConnectionCache;
  allowedBaseURLs: readonly string[];
  /** The share of each budget that this process may use, above 0 and up to 1: shards divide the budget. */
  budgetShare: number;
  /** Enqueues these connections. */
  enqueueConnections: (uids: Iterable<string>) => void;
}

const normalisedOf = memoize(({ spec }: ServiceConnection) => normalisedBaseURL(spec.baseURL));

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
  /** The session of each connection, by uid. */
  readonly #joined = new Map<string, string>();
  /** Cached results of `resolve`, with the Secret that each was made from. */
  readonly #resolved = new WeakMap<ServiceConnection, { secret: Secret | undefined; resolved: Resolved }>();
  /** Why the API server refused the finalizers of a connection or its Secret, by uid of the connection. */
  readonly #finalizerRefusals = new Map<string, string>();

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /** All sessions in use. */
  get sessions(): Iterable<Session> {
    return this.#sessions.values();
  }

  /** The session that a connection uses. */
  sessionOf({ metadata: { uid } }: ServiceConnection): Session | undefined {
    return this.#sessions.get(this.#joined.get(uid) ?? "");
  }

  resolved(connection: ServiceConnection): Resolved {
    const { cache, allowedBaseURLs } = this.#options;
    const refusal = this.#finalizerRefusals.get(connection.metadata.uid);
    if (refusal !== undefined && !this.isProtected(connection)) {
      return { kind: "refused", reason: "NotAllowed", message: refusal };
    }
    const secret = cache.secret(connection.metadata.namespace ?? "", connection.spec.apiKeySecretRef.name);
    const known = this.#resolved.get(connection);
    if (known !== undefined && known.secret === secret) return known.resolved;
    const resolved = resolve(connection, secret, allowedBaseURLs);
    this.#resolved.set(connection, { secret, resolved });
    return resolved;
  }

  /** The normalised base URL of a connection, for claims; also if the connection cannot be used. */
  baseURLOf(namespace: string, name: string): string | undefined {
    const connection = this.#options.cache.connection(namespace, name);
    return connection && normalisedOf(connection);
  }

  /** Whether the service of a connection did not answer the last probe. */
  isUnreachable(namespace: string, name: string): boolean {
    const connection = this.#options.cache.connection(namespace, name);
    const joined = connection && this.#joined.get(connection.metadata.uid);
    return joined !== undefined && this.#sessions.get(joined)?.probe.health.kind === "unreachable";
  }

  /** The fingerprint of the connection's present base URL and key if they have listed this project, refused or not. */
  reachedThrough(namespace: string, name: string, projectID: string): string | undefined {
    const connection = this.#options.cache.connection(namespace, name);
    const resolved = connection && this.resolved(connection);
    if (connection === undefined || resolved?.kind !== "account") return undefined;
    const id = idOf(resolved.account);
    const session = this.#joined.get(connection.metadata.uid) === id ? this.#sessions.get(id) : undefined;
    return session?.listers.get(projectID)?.listing === undefined ? undefined : session.fingerprint;
  }

  view(namespace: string, name: string, projectID: string): ConnectionView {
    const connection = this.#options.cache.connection(namespace, name);
    if (connection === undefined) {
      return { kind: "closed", reason: "ConnectionNotFound", message: connectionNotFound(name, namespace) };
    }
    const notReady = (message: string): ConnectionView => ({ kind: "closed", reason: "ConnectionNotReady", message });
    const resolved = this.resolved(connection);
    if (resolved.kind === "refused") return notReady(connectionNotReady.refused(name, resolved.message));
    const allowed = connection.spec.allowedProjects;
    if (allowed !== undefined && !allowed.includes(projectID)) {
      return notReady(connectionNotReady.projectNotAllowed(name, projectID));
    }
    if (!this.isProtected(connection)) return { kind: "pending" };
    const id = idOf(resolved.account);
    const session = this.#joined.get(connection.metadata.uid) === id ? this.#sessions.get(id) : undefined;
    if (session === undefined) return { kind: "pending" };
    const { health } = session.probe;
    if (health.kind === "unknown") return { kind: "pending" };
    if (health.kind === "unauthorized") {
      const message = unauthorized.compute(name, connection.spec.apiKeySecretRef.name, health.message);
      return { kind: "closed", reason: "Unauthorized", message };
    }
    return { kind: "open", session, connection, terminating: connection.metadata.deletionTimestamp !== undefined };
  }

  /** The connection uses the session of this account, which is created if needed, and leaves its previous one. */
  join(connection: ServiceConnection, account: Account): Session {
    const { uid } = connection.metadata;
    const id = idOf(account);
    if (this.#joined.get(uid) !== id) this.quit(uid);
    const limits = this.#limitsOf(connection);
    let session = this.#sessions.get(id);
    if (session === undefined) {
      const onChange = () => this.#options.enqueueConnections(this.#usersOf(id));
      session = new Session({ ...this.#options, account, onChange }, uid, limits);
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

  /** Why the API server refuses the finalizers of a connection or its Secret; `undefined`: it does not. */
  setFinalizerRefusal(uid: string, message: string | undefined): void {
    if (message === undefined) this.#finalizerRefusals.delete(uid);
    else this.#finalizerRefusals.set(uid, message);
  }

  /** Connection and Secret must outlive the endpoints created through them: without finalizers, nothing is sent. */
  isProtected(connection: ServiceConnection): boolean {
    const secret = this.#options.cache.secret(
      connection.metadata.namespace ?? "",
      connection.spec.apiKeySecretRef.name,
    );
    const isHeld = (object: KubeObject) => hasFinalizer(object) || object.metadata.deletionTimestamp !== undefined;
    return isHeld(connection) && secret !== undefined && isHeld(secret);
  }

  stop(): void {
    for (const session of this.#sessions.values()) session.stop();
  }

  #limitsOf({ spec }: ServiceConnection): SessionLimits {
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
