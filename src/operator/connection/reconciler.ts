import { type Connection, isOfCluster } from "../resources/cluster-service-connection.ts";
import type { Secret } from "../resources/secret.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import { Finalizers, type FinalizersOptions, hasFinalizer } from "./finalizers.ts";
import { notAllowed } from "./messages.ts";
import type { Resolved } from "./read-account.ts";
import type { SessionRegistry } from "./registry.ts";
import { StatusReports, type StatusReportsOptions } from "./report.ts";
import type { Session } from "./session.ts";

export interface ConnectionReconcilerOptions
  extends FinalizersOptions,
    Omit<StatusReportsOptions, "cache" | "cluster"> {
  connections: SessionRegistry;
  cache: FinalizersOptions["cache"] & StatusReportsOptions["cache"];
  /** Enqueues the Computes that use this connection. */
  enqueueUsers: (namespace: string, name: string) => void;
}

/** Reconciles a ServiceConnection: its finalizers while in use, its session, its status. */
export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;
  readonly #finalizers: Finalizers;
  /** The part of a connection that Computes can observe, by uid: they are enqueued when it changes. */
  readonly #observable = new Map<string, { namespace: string; name: string; value: string }>();
  readonly #reports: StatusReports;

  constructor(options: ConnectionReconcilerOptions) {
    this.#options = options;
    this.#finalizers = new Finalizers(options);
    this.#reports = new StatusReports(options);
  }

  /** The watch delivered a connection: if it is gone before its reconcile, its Secrets are released all the same. */
  delivered({ metadata: { uid, name, namespace = "" } }: Connection): void {
    if (!this.#observable.has(uid)) this.#observable.set(uid, { namespace, name, value: "" });
  }

  /**
   * The watch delivered a Secret: returns whether to reconcile its uid. That releases a Secret that is being deleted
   * and still has the finalizer, in case its connection was deleted unseen.
   */
  secretDelivered(secret: Secret): boolean {
    const { uid, name, namespace = "", deletionTimestamp } = secret.metadata;
    if (deletionTimestamp === undefined || !hasFinalizer(secret)) return false;
    this.#observable.set(uid, { namespace, name, value: "" });
    return true;
  }

  /** True if the connection is to be reconciled because a further Compute uses it. */
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
      this.#reports.forget(uid);
      return {};
    }
    // After a conflict nothing goes on: no session sends without the finalizers.
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
      rewriteInMs = await this.#reports.report(connection, resolved, session);
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
