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

/** What a Compute gets to see of the connection that it names. */
export type ConnectionView =
  | { kind: "open"; session: Session; connection: ServiceConnection; terminating: boolean }
  | { kind: "closed"; reason: "ConnectionNotFound" | "ConnectionNotReady" | "Unauthorized"; message: string }
  /** Being looked at for the first time: the Compute is woken when there is more to say. */
  | { kind: "pending" };

/** Read access to what the watches have delivered. */
export interface ConnectionCache {
  connection(namespace: string, name: string): ServiceConnection | undefined;
  secret(namespace: string, name: string): Secret | undefined;
}

export interface ConnectionsOptions extends Omit<SessionOptions, "account" | "onChange"> {
  cache: ConnectionCache;
  allowedBaseURLs: readonly string[];
  /** The share of each budget that this process may use, above 0 to 1: shards divide it. */
  budgetShare: number;
  /** Has these connections reconciled. */
  enqueueConnections: (uids: Iterable<string>) => void;
}

const normalisedOf = memoize(({ spec }: ServiceConnection) => normalisedBaseURL(spec.baseURL));

/** Turns connections into sessions; connections with one base URL, key, authority and organization share one. */
export class SessionRegistry {
  readonly #options: ConnectionsOptions;
  readonly #sessions = new Map<string, Session>();
  /** Which session each connection uses, by uid. */
  readonly #joined = new Map<string, string>();
  /** What connections came to with the Secret that was looked at: neither is ever changed, only replaced. */
  readonly #resolved = new WeakMap<ServiceConnection, { secret: Secret | undefined; resolved: Resolved }>();

  /** Why connections, by uid, could not be given their finalizers. */
  readonly #unguarded = new Map<string, string>();

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
    const unguarded = this.#unguarded.get(connection.metadata.uid);
    if (unguarded !== undefined && !this.isProtected(connection)) {
      return { kind: "refused", reason: "NotAllowed", message: unguarded };
    }
    const secret = cache.secret(connection.metadata.namespace ?? "", connection.spec.apiKeySecretRef.name);
    const known = this.#resolved.get(connection);
    if (known !== undefined && known.secret === secret) return known.resolved;
    const resolved = resolve(connection, secret, allowedBaseURLs);
    this.#resolved.set(connection, { secret, resolved });
    return resolved;
  }

  /** The normalised base URL that a connection leads to, for claims; whether or not it can be used. */
  baseURLOf(namespace: string, name: string): string | undefined {
    const connection = this.#options.cache.connection(namespace, name);
    return connection && normalisedOf(connection);
  }

  /** Whether the service was last found not to answer through a connection. */
  isUnreachable(namespace: string, name: string): boolean {
    const connection = this.#options.cache.connection(namespace, name);
    const joined = connection && this.#joined.get(connection.metadata.uid);
    return joined !== undefined && this.#sessions.get(joined)?.probe.health.kind === "unreachable";
  }

  /**
   * The fingerprint of the base URL and key that a connection has now, where they have shown this project; a key that
   * was refused since counts too.
   */
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

  /** Has a connection use the session of what it names, made where there is none; leaves its former one. */
  join(connection: ServiceConnection, account: Account): Session {
    const { uid } = connection.metadata;
    const id = idOf(account);
    if (this.#joined.get(uid) !== id) this.quit(uid);
    const terms = this.#termsOf(connection);
    let session = this.#sessions.get(id);
    if (session === undefined) {
      const onChange = () => this.#options.enqueueConnections(this.#usersOf(id));
      session = new Session({ ...this.#options, account, onChange }, uid, terms);
      this.#sessions.set(id, session);
    } else session.join(uid, terms);
    this.#joined.set(uid, id);
    return session;
  }

  /** The connection is gone, or can no longer be used. */
  quit(uid: string): void {
    const id = this.#joined.get(uid);
    if (id === undefined) return;
    this.#joined.delete(uid);
    const session = this.#sessions.get(id);
    if (session === undefined || session.quit(uid)) return;
    session.stop();
    this.#sessions.delete(id);
  }

  /** Why the API server does not take the finalizers of a connection and its Secret; `undefined`: nothing of it. */
  guardRefused(uid: string, why: string | undefined): void {
    if (why === undefined) this.#unguarded.delete(uid);
    else this.#unguarded.set(uid, why);
  }

  /**
   * Connection and Secret must outlive the computes made through them: nothing is sent before their finalizers stand.
   */
  isProtected(connection: ServiceConnection): boolean {
    const secret = this.#options.cache.secret(
      connection.metadata.namespace ?? "",
      connection.spec.apiKeySecretRef.name,
    );
    const safe = (object: KubeObject) => hasFinalizer(object) || object.metadata.deletionTimestamp !== undefined;
    return safe(connection) && secret !== undefined && safe(secret);
  }

  stop(): void {
    for (const session of this.#sessions.values()) session.stop();
  }

  #termsOf({ spec }: ServiceConnection): SessionLimits {
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
