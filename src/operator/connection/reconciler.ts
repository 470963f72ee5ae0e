import type { ClusterClient } from "../kube/client.ts";
import { Reconciler } from "../life/reconciler.ts";
import { isBeingDeleted } from "../objects/object.ts";
import { type Connection, kindOf } from "../resources/cluster-service-connection.ts";
import type { Secret } from "../resources/secret.ts";
import { earliest } from "../runtime/clock.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import { Finalizers, type FinalizersOptions, hasFinalizer } from "./finalizers.ts";
import { notAllowed } from "./messages.ts";
import type { Resolved } from "./read-account.ts";
import type { SessionRegistry } from "./registry.ts";
import { type Reported, StatusReports, type StatusReportsOptions } from "./report.ts";
import type { Session } from "./session.ts";

export interface ConnectionReconcilerOptions
  extends FinalizersOptions,
    Omit<StatusReportsOptions, "cache" | "cluster"> {
  cluster: ClusterClient;
  connections: SessionRegistry;
  cache: FinalizersOptions["cache"] & StatusReportsOptions["cache"];
  /** Enqueues the Computes that use this connection. */
  enqueueUsers: (namespace: string, name: string) => void;
}

/** Memory of a connection, or of a Secret that is being deleted, until its reconcile. */
interface Memory {
  namespace: string;
  name: string;
  /** The part that Computes can observe: they are enqueued when it changes. */
  observable: string;
  reported: Reported | undefined;
}

/** Reconciles a ServiceConnection: its finalizers while in use, its session, its status. */
export class ConnectionReconciler {
  readonly #options: ConnectionReconcilerOptions;
  readonly #finalizers: Finalizers;
  readonly #memories: Reconciler<Connection, Memory>;
  readonly #reports: StatusReports;

  constructor(options: ConnectionReconcilerOptions) {
    this.#options = options;
    this.#finalizers = new Finalizers(options);
    this.#reports = new StatusReports(options);
    const { cache } = options;
    this.#memories = new Reconciler({
      ...options,
      kindOf,
      selects: () => true,
      newest: (uid) => cache.connectionByUID(uid),
      remember: ({ object }): Memory => {
        const { namespace = "", name = "" } = object?.metadata ?? {};
        return { namespace, name, observable: "", reported: undefined };
      },
      gone: (uid, memory) => this.#gone(uid, memory),
    });
  }

  /** The watch delivered a connection: if it is gone before its reconcile, its Secrets are released all the same. */
  delivered({ metadata: { uid, name, namespace = "" } }: Connection): void {
    Object.assign(this.#memories.memoryOf(uid), { namespace, name });
  }

  /**
   * The watch delivered a Secret: returns whether to reconcile its uid. That releases a Secret that is being deleted
   * and still has the finalizer, in case its connection was deleted unseen.
   */
  secretDelivered(secret: Secret): boolean {
    const { uid, name, namespace = "" } = secret.metadata;
    if (!isBeingDeleted(secret) || !hasFinalizer(secret)) return false;
    Object.assign(this.#memories.memoryOf(uid), { namespace, name });
    return true;
  }

  /** True if the connection is to be reconciled because a further Compute uses it. */
  awaitsUser(connection: Connection): boolean {
    return !this.#finalizers.isSettled(connection);
  }

  reconcile(uid: string): Promise<Reconciled> {
    return this.#memories.reconcile(uid, (connection, memory) => this.#reconcile(connection, memory));
  }

  async #gone(uid: string, memory: Memory | undefined): Promise<void> {
    const { connections, enqueueUsers } = this.#options;
    connections.quit(uid);
    connections.setFinalizerRefusal(uid, undefined);
    if (memory === undefined) return;
    await this.#finalizers.releaseSecrets(memory.namespace, { gone: uid });
    enqueueUsers(memory.namespace, memory.name);
  }

  async #reconcile(connection: Connection, memory: Memory): Promise<Reconciled> {
    const { connections } = this.#options;
    const { uid } = connection.metadata;
    // After a conflict nothing goes on: no session sends without the finalizers.
    const finalizers = await this.#finalizers.protect(connection);
    if (finalizers.kind === "released") return {};
    const refusal = finalizers.kind === "refused" ? finalizers.error : undefined;
    connections.setFinalizerRefusal(uid, refusal && notAllowed.finalizer(refusal.message));
    const resolved = connections.resolved(connection);
    const session = this.#session(connection, resolved);
    let rewriteInMs: number | undefined;
    try {
      rewriteInMs = await this.#reports.report(connection, resolved, session, memory);
    } finally {
      // Computes continue even if the status cannot be written.
      this.#enqueueUsersOnChange(connection, resolved, session, memory);
    }
    // The status reports it, and the reconcile is retried.
    if (refusal !== undefined) throw refusal;
    return { requeueAfterMs: earliest([session?.state.probeInMs, rewriteInMs]) };
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

  /** Enqueues the Computes if a reconcile has changed what they observe; a changed spec has enqueued them already. */
  #enqueueUsersOnChange(
    connection: Connection,
    resolved: Resolved,
    session: Session | undefined,
    memory: Memory,
  ): void {
    const health = session?.state.health;
    const value = JSON.stringify([
      session?.fingerprint ?? (resolved.kind === "refused" ? resolved.message : ""),
      health?.kind === "unreachable" ? "reachable" : health?.kind,
      this.#options.connections.isProtected(connection),
    ]);
    if (memory.observable === value) return;
    memory.observable = value;
    this.#options.enqueueUsers(memory.namespace, memory.name);
  }
}
