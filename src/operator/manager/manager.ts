import { operationOutcome } from "../../api/operation.ts";
import type { BranchReconciler } from "../branch/reconciler.ts";
import { ClaimIndex } from "../claims/claim-index.ts";
import { recordedID } from "../claims/ownership.ts";
import { isOutsider } from "../compute/observe/outsider.ts";
import type { ComputeReconciler } from "../compute/reconciler.ts";
import { ConnectionReconciler } from "../connection/reconciler.ts";
import { SessionRegistry } from "../connection/registry.ts";
import type { EventInput } from "../kube/event-record.ts";
import type { PoolReconciler } from "../pool/reconciler.ts";
import { StoredSpecs } from "../pool/stored-specs.ts";
import type { Compute } from "../resources/compute.ts";
import { sleep } from "../runtime/clock.ts";
import { unlessStopped } from "../runtime/unattended.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import { Controller } from "./controller.ts";
import { EventHandlers } from "./event-handlers.ts";
import { flowOf, type Kind } from "./flow-of.ts";
import { countFromZero } from "./guard-stops.ts";
import type { ManagerOptions } from "./manager-options.ts";
import { orphansAmong } from "./orphans-among.ts";
import { newBranchReconciler, newComputeReconciler, newPoolReconciler } from "./reconcilers.ts";
import { type NamespaceOf, UsageMeter } from "./state-metrics.ts";
import { nextInTurn } from "./turns.ts";
import { crdIsGoing } from "./uninstalling.ts";

/** All state of one term of leadership. It starts empty, so no plan from an earlier term is executed. */
export class Manager {
  readonly #options: ManagerOptions;
  /** Aborts requests in flight, some time after the term has ended. */
  readonly #stop = new AbortController();
  /** Reconciles in flight are waited for. */
  #isStopping = false;
  readonly #claims: ClaimIndex;
  readonly #connections: SessionRegistry;
  readonly #queues: Record<Kind, Controller>;
  readonly #computes: ComputeReconciler;
  readonly #connectionReconciler: ConnectionReconciler;
  readonly #pools: PoolReconciler;
  readonly #branches: BranchReconciler;
  readonly #storedSpecs = new StoredSpecs();
  readonly #handlers: EventHandlers;

  constructor(options: ManagerOptions) {
    this.#options = options;
    const { informers, options: settings } = options;
    const few = Math.max(2, Math.ceil(settings.workers / 4));
    this.#queues = {
      compute: this.#queue("compute", (uid) => this.#computes.reconcile(uid), settings.workers),
      connection: this.#queue("connection", (uid) => this.#connectionReconciler.reconcile(uid), few),
      pool: this.#queue("pool", (uid) => this.#pools.reconcile(uid), few),
      branch: this.#queue("branch", (uid) => this.#branches.reconcile(uid), few),
    };
    this.#connections = this.#newSessions();
    this.#claims = new ClaimIndex({
      serviceOf: (compute) => this.#connections.baseURLOf(compute),
      isOutsider: (compute) => isOutsider(compute, this.#connections),
    });
    this.#connectionReconciler = this.#newConnectionReconciler();
    const term = (kind: Kind) => ({
      connections: this.#connections,
      storedSpecs: this.#storedSpecs,
      changeBlockedWorkers: (by: number) => this.#queues[kind].queue.changeBlockedWorkers(by),
      signal: this.#stop.signal,
    });
    this.#computes = newComputeReconciler(options, {
      ...term("compute"),
      claims: this.#claims,
      isStopping: () => this.#isStopping,
      onTurnOver: (compute) =>
        this.#enqueue(
          "compute",
          nextInTurn(compute, informers).map(({ metadata: { uid } }) => uid),
        ),
      onStep: (action, compute, outcome) => {
        options.tracer.decided(action.kind);
        this.#log(action.kind, compute, outcome.events);
      },
    });
    countFromZero(options.metrics);
    this.#pools = newPoolReconciler(options, this.#storedSpecs);
    this.#branches = newBranchReconciler(options, term("branch"));
    this.#handlers = new EventHandlers({
      informers,
      claims: this.#claims,
      computes: this.#computes,
      connections: this.#connectionReconciler,
      branches: this.#branches,
      storedSpecs: this.#storedSpecs,
      enqueue: (kind, uids) => this.#enqueue(kind, uids),
      pause: () => sleep(options.clock, 0, this.#stop.signal),
      signal: this.#stop.signal,
      log: options.log,
    });
  }

  get connections(): SessionRegistry {
    return this.#connections;
  }

  /** Number of objects that wait for a worker, by kind. */
  get queued(): Record<Kind, number> {
    const { compute, connection, pool, branch } = this.#queues;
    return {
      compute: compute.queue.depth,
      connection: connection.queue.depth,
      pool: pool.queue.depth,
      branch: branch.queue.depth,
    };
  }

  /** The progress of each queue, for the health check. */
  progress() {
    return Object.values(this.#queues).map(({ queue }) => queue.progress());
  }

  /** Reconciles until the signal aborts, then waits a while for reconciles in flight. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, options, informers } = this.#options;
    const unsubscribe = informers.subscribe(this.#handlers);
    let drained = () => {};
    const hardStop = () => {
      this.#isStopping = true;
      drained = clock.after(options.drainMs, () => this.#stop.abort(new Error("the operator is stopping")));
    };
    signal.addEventListener("abort", hardStop, { once: true });
    await this.#handlers.everything(signal).catch(unlessStopped(signal));
    await Promise.all(Object.values(this.#queues).map((queue) => queue.run(signal)));
    unsubscribe();
    drained();
    this.#stop.abort(new Error("the operator is stopping"));
    this.#connections.stop();
    for (const { queue } of Object.values(this.#queues)) queue.close();
    this.#options.budgets.dismiss();
    this.#options.brake.dismiss();
    this.#options.branchBrake.dismiss();
  }

  #newSessions(): SessionRegistry {
    const { informers, clock, options: settings, metrics, tracer, ...options } = this.#options;
    const namespaceOf: NamespaceOf = (...place) =>
      this.#options.namespaces.of(this.#claims.claimantOn(...place)?.metadata.namespace);
    const usage = new UsageMeter(metrics, namespaceOf);
    return new SessionRegistry({
      cache: {
        connection: (namespace, name) => informers.connection(namespace, name),
        secret: (namespace, name) => informers.apiKey(namespace, name),
        lacksSecrets: (namespace) => informers.lacksApiKeys(namespace),
        namespaceLabels: (namespace) => informers.namespaceLabels(namespace),
        clusterConnections: () => informers.clusterConnections,
      },
      clusterResourceNamespace: settings.clusterResourceNamespace,
      allowedBaseURLs: settings.allowedBaseURLs,
      budgetShare: settings.budgetShare,
      transport: options.serviceTransport,
      budgets: options.budgets,
      namesShownBy: options.namesShownBy,
      clock,
      beforeWrite: options.beforeWrite,
      log: options.log,
      signal: this.#stop.signal,
      enqueue: (uids) => this.#enqueueUsers(uids),
      mayStart: (uid) => this.#queues[this.#kindOf(uid)].queue.mayStart(uid),
      enqueueConnections: (uids) => this.#enqueue("connection", uids),
      observe: ({ method, route, code, seconds }) => {
        metrics.serviceRequests.add({ method, route, code });
        metrics.serviceSeconds.observe({ method, route }, seconds);
        tracer.requested({ to: "service", method, route, code, seconds });
      },
      orphansAmong: orphansAmong(settings, {
        has: (uid) => this.#claims.has(uid),
        all: () => informers.computes.list(),
      }),
      onListed: (project, listing, baseURL) => usage.listed(project, listing, baseURL),
      onUnused: (project, baseURL) => usage.forget(project, baseURL),
      onOperationEnded: ({ action, status, project_id = "", endpoint_id = "" }, baseURL) => {
        const namespace = namespaceOf(baseURL, project_id, endpoint_id);
        metrics.operations.add({ namespace, action, outcome: operationOutcome(status) });
      },
    });
  }

  #newConnectionReconciler(): ConnectionReconciler {
    const { cluster, informers, clock, event, log } = this.#options;
    return new ConnectionReconciler({
      cluster,
      clock,
      connections: this.#connections,
      cache: {
        connectionByUID: (uid) => informers.connectionByUID(uid),
        connectionsOf: (namespace) => informers.connectionsWithin(namespace),
        secret: (namespace, name) => informers.apiKey(namespace, name),
        secretsOf: (namespace) => informers.apiKeys.within(namespace),
        isUser: (compute, labelsOf) => this.#connections.isUser(compute, labelsOf),
        usersOf: (...connection) => informers.usersOf(...connection, (user) => this.#connections.isUser(user)),
      },
      uninstalling: () => crdIsGoing(cluster),
      enqueueUsers: (namespace, name) => this.#handlers.usersOf(namespace, name),
      event,
      log,
    });
  }

  #queue(kind: Kind, reconcile: (uid: string) => Promise<Reconciled>, workers: number): Controller {
    const { clock, random, log, metrics, tracer, informers } = this.#options;
    const stopped = this.#stop.signal;
    const shared = { kind, clock, random, log, metrics, tracer, workers, reconcile, stopped };
    const objectOf = {
      compute: (uid: string) => informers.computes.byUid(uid),
      connection: (uid: string) => informers.connectionByUID(uid),
      pool: (uid: string) => informers.pools.byUid(uid),
      branch: (uid: string) => informers.branches.byUid(uid),
    }[kind];
    const nameOf = (uid: string) => objectOf(uid)?.metadata ?? {};
    return new Controller({ ...shared, nameOf, flowOf: (uid) => flowOf(kind, uid, informers) });
  }

  #enqueue(kind: Kind, uids: Iterable<string>): void {
    this.#queues[kind].enqueue(uids);
  }

  /** Computes and Branches share the lists and limits of their projects. */
  #kindOf(uid: string): "compute" | "branch" {
    return this.#options.informers.branches.byUid(uid) === undefined ? "compute" : "branch";
  }

  #enqueueUsers(uids: Iterable<string>): void {
    for (const uid of uids) this.#enqueue(this.#kindOf(uid), [uid]);
  }

  #log(action: string, compute: Compute, events: readonly EventInput[]): void {
    const { log, metrics, namespaces } = this.#options;
    const { namespace, name } = compute.metadata;
    for (const { type, reason, message } of events) {
      if (reason === "DriftCorrected") metrics.driftCorrections.add({ namespace: namespaces.of(namespace) });
      const fields = { namespace, name, endpoint: recordedID(compute), kind: action, reason };
      if (type === "Warning") log.warn(fields, message);
      else log.info(fields, message);
    }
  }
}
