import type { RecordEvent } from "../kube/event-record.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import { type Connection, isOfCluster, kindOf } from "../resources/cluster-service-connection.ts";
import type { Compute } from "../resources/compute.ts";
import { conditionOf, timestamp } from "../resources/conditions-of.ts";
import { sameJSON } from "../resources/record.ts";
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

/** Maximum number of unanswered status writes that are remembered per connection. */
const mostUnanswered = 5;

/** What this process knows of its own status writes of a connection: `report` is the part that it knows itself. */
type Written =
  | { kind: "answered"; report: string; unanswered: readonly Connection["status"][] }
  /** The last write has no answer: either its status is stored or the previous one. */
  | { kind: "unanswered"; unanswered: readonly Connection["status"][] };

/** Reconciles a ServiceConnection: its finalizers while in use, its session, its status. */
export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;
  readonly #finalizers: Finalizers;
  /** What Computes can observe of a connection, by uid: they are enqueued when it changes. */
  readonly #observable = new Map<string, { namespace: string; name: string; value: string }>();
  /**
   * By uid. Shards report on the same connection and may see the service differently: if each answered the other's
   * status with its own, they would never end. An unanswered write may take effect long after it was given up.
   */
  readonly #written = new Map<string, Written>();
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
      this.#written.delete(uid);
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
    try {
      await this.#report(connection, resolved, session);
    } finally {
      // Computes continue even if the status cannot be written.
      this.#enqueueUsersOnChange(connection, resolved, session);
    }
    // The status reports it, and the reconcile is retried.
    if (refusal !== undefined) throw refusal;
    return { requeueAfterMs: session?.probe.dueInMs };
  }

  #session(connection: Connection, resolved: Resolved): Session | undefined {
    const { connections } = this.#options;
    if (resolved.kind === "refused") {
      connections.quit(connection.metadata.uid);
      return undefined;
    }
    const session = connections.join(connection, resolved.account);
    session.probe.start();
    return session;
  }

  #dependentsOf({ metadata: { namespace = "", name } }: Connection): Compute[] {
    const { cache } = this.#options;
    return [...cache.usersOf(namespace, name)];
  }

  async #report(connection: Connection, resolved: Resolved, session: Session | undefined): Promise<void> {
    const { clock, cluster, cache } = this.#options;
    const latest = cache.connectionByUID(connection.metadata.uid) ?? connection;
    if (!this.#hasNews(latest, session)) return;
    const secret = cache.secret(latest.metadata.namespace ?? "", latest.spec.apiKeySecretRef.name);
    const users = () => this.#dependentsOf(latest);
    const terminating = terminatingOf(latest, secret, users);
    const status = statusOf(latest, resolved, session, terminating, users, timestamp(clock.now()));
    const { uid } = latest.metadata;
    if (session?.probe.health.kind !== "unknown") this.#transitions.report(latest, status);
    const report = reportOf(status, session);
    const written = this.#written.get(uid);
    const unanswered = written?.unanswered ?? [];
    const isStored = written?.kind !== "unanswered" && sameJSON(status, latest.status);
    const isReported = written?.kind === "answered" && written.report === report && isCurrent(latest);
    const isOutdated = unanswered.some((former) => sameJSON(former, latest.status));
    if (isStored || (isReported && !isOutdated)) {
      this.#written.set(uid, { kind: "answered", report, unanswered });
      return;
    }
    const patch = guardedPatch(latest).setStatus(status).ops();
    this.#written.set(uid, { kind: "unanswered", unanswered: [...unanswered, status].slice(-mostUnanswered) });
    await cluster.patch(kindOf(latest), latest.metadata, patch, { subresource: "status" });
    this.#written.set(uid, { kind: "answered", report, unanswered });
    this.#warn(terminating, latest, secret);
  }

  /** The status of an earlier process is kept until the first probe of this one has ended. */
  #hasNews(connection: Connection, session: Session | undefined): boolean {
    const isUnknown = session?.probe.health.kind === "unknown" && !session.pause.isOn;
    return !isUnknown || !isCurrent(connection) || this.#written.has(connection.metadata.uid);
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
    const health = session?.probe.health;
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
