import type { RecordEvent } from "../kube/event-record.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import { conditionOf, timestamp } from "../objects/conditions-of.ts";
import { sameJSON } from "../objects/record.ts";
import { type Connection, isOfCluster, kindOf } from "../resources/cluster-service-connection.ts";
import type { ConnectionUser } from "../resources/connection-user.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import { Finalizers, type FinalizersOptions, hasFinalizer } from "./finalizers.ts";
import { notAllowed } from "./messages.ts";
import type { SessionRegistry } from "./registry.ts";
import { type Resolved, type Secret, secretKind } from "./resolve.ts";
import type { Session } from "./session.ts";
import { isCurrent, reportOf, statusOf } from "./status.ts";
import { type Terminating, terminatingOf } from "./terminating.ts";
import { Transitions } from "./transitions.ts";

export interface ConnectionReconcilerOptions extends FinalizersOptions {
  clock: Clock;
  connections: SessionRegistry;
  cache: FinalizersOptions["cache"] & { connectionByUID(uid: string): Connection | undefined };
  /** Enqueues the Computes that use this connection. */
  enqueueUsers: (namespace: string, name: string) => void;
  event: RecordEvent;
  log: Logger;
}

/** Delay between two writes of one report over another process's status: four times longer each time. */
const firstRewriteMs = 10_000;
const longestRewriteMs = 3_600_000;

/** The last report of this process in a connection's status. */
interface Reported {
  report: string;
  /** False while the write has no answer: either its status is stored or the previous one. */
  isAnswered: boolean;
  /** The base URL and key that the stored status is about. */
  fingerprint: string | undefined;
  rewrites: number;
  /** Time of the next rewrite at the earliest, on the monotonic clock. */
  rewriteAt: number;
}

/** Reconciles a ServiceConnection: its finalizers while in use, its session, its status. */
export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;
  readonly #finalizers: Finalizers;
  /** What Computes can observe of a connection, by uid: they are enqueued when it changes. */
  readonly #observable = new Map<string, { namespace: string; name: string; value: string }>();
  /**
   * By uid. Another status may stand there later: a write that was given up, of a process that died too, takes effect
   * late, and a shard may see the service differently. So it is written over, ever more rarely: two shards that
   * disagree cost a write an hour each.
   */
  readonly #reported = new Map<string, Reported>();
  readonly #transitions: Transitions;

  constructor(options: ConnectionReconcilerOptions) {
    this.#options = options;
    this.#finalizers = new Finalizers(options);
    this.#transitions = new Transitions(options.log, options.event);
  }

  /** The watch delivered a connection: if it is gone before its reconcile, its Secrets are released all the same. */
  seen({ metadata: { uid, name, namespace = "" } }: Connection): void {
    if (!this.#observable.has(uid)) this.#observable.set(uid, { namespace, name, value: "" });
  }

  /**
   * The watch delivered a Secret: returns whether to reconcile its uid. That releases a Secret that is being deleted
   * and still has the finalizer, in case its connection was deleted unseen.
   */
  secretSeen(secret: Secret): boolean {
    const { uid, name, namespace = "", deletionTimestamp } = secret.metadata;
    if (deletionTimestamp === undefined || !hasFinalizer(secret)) return false;
    this.#observable.set(uid, { namespace, name, value: "" });
    return true;
  }

  /** Whether the connection is to be reconciled because a further Compute uses it. */
  awaitsUser(connection: Connection): boolean {
    return !this.#finalizers.isSettled(connection);
  }

  async reconcile(uid: string): Promise<Reconciled> {
    const { cache, connections } = this.#options;
    const connection = cache.connectionByUID(uid);
    if (connection === undefined) {
      connections.quit(uid);
      connections.setFinalizerRefusal(uid, undefined);
      const known = this.#observable.get(uid);
      if (known !== undefined) {
        await this.#finalizers.releaseSecrets(known.namespace, { gone: uid });
        this.#options.enqueueUsers(known.namespace, known.name);
      }
      this.#observable.delete(uid);
      this.#reported.delete(uid);
      this.#transitions.forget(uid);
      return {};
    }
    this.#transitions.begin(connection);
    const finalizers = await this.#finalizers.protect(connection);
    if (finalizers.kind === "released") {
      const { name, namespace = "" } = connection.metadata;
      this.#observable.set(uid, { namespace, name, value: "" });
      return {};
    }
    const refusal = finalizers.kind === "refused" ? finalizers.error : undefined;
    connections.setFinalizerRefusal(uid, refusal && notAllowed.finalizer(refusal.message));
    const resolved = connections.resolved(connection);
    const session = this.#session(connection, resolved);
    let rewriteInMs: number | undefined;
    try {
      rewriteInMs = await this.#report(connection, resolved, session);
    } finally {
      // Computes continue even if the status cannot be written.
      this.#enqueueUsersOnChange(connection, resolved, session);
    }
    // The status reports it, and the reconcile is retried.
    if (refusal !== undefined) throw refusal;
    return { requeueAfterMs: earliest(session?.state.probeInMs, rewriteInMs) };
  }

  #session(connection: Connection, resolved: Resolved): Session | undefined {
    const { connections } = this.#options;
    if (resolved.kind === "refused") {
      connections.quit(connection.metadata.uid);
      return undefined;
    }
    const session = connections.join(connection, resolved.account);
    session.probe();
    return session;
  }

  #dependentsOf({ metadata: { namespace = "", name } }: Connection): ConnectionUser[] {
    const { cache } = this.#options;
    return [...cache.usersOf(namespace, name)];
  }

  /** Writes the status where it differs. Returns the delay until another process's status may be written over. */
  async #report(connection: Connection, resolved: Resolved, session: Session | undefined): Promise<number | undefined> {
    const { clock, cluster, cache } = this.#options;
    const latest = cache.connectionByUID(connection.metadata.uid) ?? connection;
    if (!this.#hasNews(latest, session)) return undefined;
    const secret = cache.secret(latest.metadata.namespace ?? "", latest.spec.apiKeySecretRef.name);
    const users = () => this.#dependentsOf(latest);
    const terminating = terminatingOf(latest, secret, users);
    const { uid } = latest.metadata;
    const own = this.#reported.get(uid);
    const fingerprint = session?.fingerprint;
    // A process that starts takes the stored status for that of its own key: whether that changed, only /auth can tell.
    const about = own === undefined && isCurrent(latest) ? fingerprint : own?.fingerprint;
    const isOfKey = fingerprint !== undefined && about === fingerprint;
    const seen = { now: timestamp(clock.now()), isOfKey };
    const status = statusOf(latest, resolved, session, terminating, users, seen);
    if (session?.state.health.kind !== "unknown") this.#transitions.report(latest, status);
    const report = reportOf(status, session);
    const now = clock.monotonic();
    const isSame = own?.report === report;
    const rewrites = isSame ? own.rewrites : 0;
    if (own?.isAnswered !== false && sameJSON(status, latest.status)) {
      this.#reported.set(uid, {
        report,
        fingerprint,
        isAnswered: true,
        rewrites,
        rewriteAt: own?.rewriteAt ?? now + firstRewriteMs,
      });
      return undefined;
    }
    const isRewrite = isSame && own.isAnswered && isCurrent(latest);
    if (isRewrite && now < own.rewriteAt) return own.rewriteAt - now;
    const rewriteAt = now + Math.min(firstRewriteMs * 4 ** rewrites, longestRewriteMs);
    const next = { report, rewrites: isRewrite ? rewrites + 1 : rewrites, rewriteAt };
    this.#reported.set(uid, { ...next, fingerprint: about, isAnswered: false });
    const patch = guardedPatch(latest).setStatus(status).ops();
    await cluster.patch(kindOf(latest), latest.metadata, patch, { subresource: "status" });
    this.#reported.set(uid, { ...next, fingerprint, isAnswered: true });
    this.#warn(terminating, latest, secret);
    return undefined;
  }

  /** The status of an earlier process is kept until the first probe of this one has ended. */
  #hasNews(connection: Connection, session: Session | undefined): boolean {
    return (
      session?.state.shown.kind !== "unknown" || !isCurrent(connection) || this.#reported.has(connection.metadata.uid)
    );
  }

  /** A deletion that waits for the user is an event on the deleted object, once. */
  #warn(terminating: Terminating | undefined, connection: Connection, secret: Secret | undefined): void {
    if (terminating === undefined || terminating.endsAutomatically) return;
    const before = conditionOf(connection.status, "Ready")?.message;
    if (before?.startsWith(terminating.message.slice(0, terminating.message.indexOf(":") + 1)) === true) return;
    const event = { type: "Warning", reason: "Deleting", message: terminating.message } as const;
    if (terminating.kind === "connection") this.#options.event(kindOf(connection), connection, event);
    else if (secret !== undefined) this.#options.event(secretKind, secret, event);
  }

  /** Enqueues the Computes if what they may do through the connection has changed. */
  #enqueueUsersOnChange(connection: Connection, resolved: Resolved, session: Session | undefined): void {
    const { uid, name, namespace = "" } = connection.metadata;
    const health = session?.state.health;
    const value = JSON.stringify([
      session?.fingerprint ?? (resolved.kind === "refused" ? resolved.message : ""),
      health?.kind === "unreachable" ? "reachable" : health?.kind,
      connection.metadata.deletionTimestamp !== undefined,
      connection.spec.allowedProjects,
      isOfCluster(connection) ? connection.spec.namespaceSelector : undefined,
      this.#options.connections.isProtected(connection),
    ]);
    const changed = this.#observable.get(uid)?.value !== value;
    this.#observable.set(uid, { namespace, name, value });
    if (changed) this.#options.enqueueUsers(namespace, name);
  }
}

function earliest(...delays: readonly (number | undefined)[]): number | undefined {
  const known = delays.filter((delay) => delay !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
