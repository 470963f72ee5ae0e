import { operationOutcome } from "../api/operation.ts";
import type { Caches } from "./caches.ts";
import type { Budgets } from "./client/budgets.ts";
import type { ServiceTransport } from "./client/transport.ts";
import type { ClusterClient } from "./cluster/client.ts";
import type { RecordEvent } from "./cluster/event-record.ts";
import type { Change } from "./cluster/store.ts";
import { ClaimIndex } from "./compute/observe/claim-index.ts";
import { recordedID } from "./compute/observe/link.ts";
import type { Note } from "./compute/outcome.ts";
import { ComputeReconciler } from "./compute/reconcile.ts";
import { Connections } from "./connection/connections.ts";
import { ConnectionReconciler } from "./connection/reconcile.ts";
import type { Secret } from "./connection/resolve.ts";
import { DeletionBrake } from "./deletion-brake.ts";
import { laneOf } from "./lane-of.ts";
import type { OperatorOptions } from "./options.ts";
import { PassQueue } from "./pass-queue.ts";
import { PoolReconciler } from "./pool/reconcile.ts";
import { type Compute, computeKind } from "./resources/compute.ts";
import type { ComputePool } from "./resources/compute-pool.ts";
import { labels } from "./resources/names.ts";
import type { ServiceConnection } from "./resources/service-connection.ts";
import type { Clock, Random } from "./runtime/clock.ts";
import type { Logger } from "./runtime/log.ts";
import type { Metrics } from "./runtime/metrics.ts";
import type { QueueProgress } from "./runtime/queue.ts";
import { crdIsGoing, goesWithCRD } from "./uninstalling.ts";
import { UsageMeter } from "./usage-meter.ts";

export interface TermOptions {
  cluster: ClusterClient;
  serviceTransport: ServiceTransport;
  /** Of the process, not of the term: what was sent in the last one counts in this. */
  budgets: Budgets;
  beforeWrite: () => void;
  caches: Caches;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: Metrics;
  options: OperatorOptions;
  event: RecordEvent;
}

type Kind = "compute" | "connection" | "pool";

/** Everything that one term of leadership knows and does. It begins empty: no plan is acted on from before it. */
export class Term {
  readonly #options: TermOptions;
  /** Ends requests in flight, some time after the term has ended. */
  readonly #stop = new AbortController();
  readonly #claims: ClaimIndex;
  readonly #brake: DeletionBrake;
  readonly #connections: Connections;
  readonly #queues: Record<Kind, PassQueue>;
  readonly #computes: ComputeReconciler;
  readonly #connectionReconciler: ConnectionReconciler;
  readonly #pools: PoolReconciler;

  constructor(term: TermOptions) {
    this.#options = term;
    const { cluster, caches, clock, options, metrics } = term;
    const signal = this.#stop.signal;
    const few = Math.max(2, Math.ceil(options.workers / 4));
    this.#queues = {
      compute: this.#queue("compute", (uid) => this.#computes.reconcile(uid), options.workers),
      connection: this.#queue("connection", (uid) => this.#connectionReconciler.reconcile(uid), few),
      pool: this.#queue("pool", (uid) => this.#pools.reconcile(uid), few),
    };
    const usage = new UsageMeter(metrics);
    this.#connections = new Connections({
      cache: {
        connection: (namespace, name) => caches.connections.get(namespace, name),
        secret: (namespace, name) => caches.apiKeys.get(namespace, name),
      },
      allowedBaseURLs: options.allowedBaseURLs,
      budgetShare: options.budgetShare,
      transport: term.serviceTransport,
      budgets: term.budgets,
      clock,
      beforeWrite: term.beforeWrite,
      signal,
      wake: (uids) => this.#wake("compute", uids),
      wakeConnections: (uids) => this.#wake("connection", uids),
      observe: ({ method, route, code, seconds }) => {
        metrics.serviceRequests.add({ method, route, code });
        metrics.serviceSeconds.observe({ method, route }, seconds);
      },
      onBudgetWait: (seconds) => metrics.budgetWaits.observe({}, seconds),
      inHand: (more) => this.#queues.compute.waits(more),
      onListed: (project, listing) => usage.listed(project, listing),
      onUnused: (project) => usage.forget(project),
      onOperationEnded: ({ action, status }) => metrics.operations.add({ action, outcome: operationOutcome(status) }),
    });
    this.#claims = new ClaimIndex(({ metadata, spec }) =>
      this.#connections.baseURLOf(metadata.namespace ?? "", spec.connectionRef.name),
    );
    this.#connectionReconciler = new ConnectionReconciler({
      cluster,
      clock,
      connections: this.#connections,
      cache: {
        connectionByUID: (uid) => caches.connections.byUid(uid),
        connectionsOf: (namespace) => caches.connections.within(namespace),
        secret: (namespace, name) => caches.apiKeys.get(namespace, name),
        secretsOf: (namespace) => caches.apiKeys.within(namespace),
        usersOf: (namespace, name) => caches.users.of(namespace, name),
        departedFrom: (namespace, name) => this.#computes.departed.filter((compute) => names(compute, namespace, name)),
      },
      uninstalling: () => crdIsGoing(cluster),
      wakeUsers: (namespace, name) => this.#wakeUsersOf(namespace, name),
      event: term.event,
      log: this.#options.log,
    });
    this.#brake = new DeletionBrake(clock, options.maxDeletesPerMinute);
    this.#computes = new ComputeReconciler({
      cluster,
      clock,
      connections: this.#connections,
      claims: this.#claims,
      cache: {
        computeByUID: (uid) => caches.computes.byUid(uid),
        connectionSecrets: (namespace) => caches.connectionSecrets.within(namespace),
      },
      selects: (compute) => options.selects(compute.metadata.labels),
      event: (compute, note) => term.event(computeKind, compute, note),
      mayDelete: (uid) => this.#brake.release(uid),
      uninstalling: (compute) => goesWithCRD(cluster, compute),
      createSettleMs: options.createSettleMs,
      signal,
      onSettled: (compute) => this.#wakeConnectionsUsedBy(compute),
      onStep: (step, compute, outcome) => this.#note(step.step, compute, outcome.notes),
    });
    this.#pools = new PoolReconciler({
      cluster,
      clock,
      selects: (pool) => options.selects(pool.metadata.labels),
      cache: {
        poolByUID: (uid) => caches.pools.byUid(uid),
        computesOf: (namespace) => caches.computes.within(namespace),
        compute: (namespace, name) => caches.computes.get(namespace, name),
      },
    });
  }

  get connections(): Connections {
    return this.#connections;
  }

  /** How many deletions wait because of the brake. */
  get deletesHeld(): number {
    return this.#brake.held;
  }

  /** How each queue gets on, for the health check. */
  progress(): QueueProgress[] {
    return Object.values(this.#queues).map((queue) => queue.progress());
  }

  /** Reconciles until the signal aborts, then lets what is in flight finish for a while. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches, clock, options } = this.#options;
    for (const compute of caches.computes.list()) this.#claims.set(compute);
    const orphans = caches.apiKeys.list().filter((secret) => this.#connectionReconciler.secretSeen(secret));
    this.#wake("connection", uidsOf([...caches.connections.list(), ...orphans]));
    this.#wake("compute", uidsOf(caches.computes.list()));
    this.#wake("pool", uidsOf(caches.pools.list()));
    let drained = () => {};
    const hardStop = () => {
      drained = clock.after(options.drainMs, () => this.#stop.abort(new Error("the operator is stopping")));
    };
    signal.addEventListener("abort", hardStop, { once: true });
    await Promise.all(Object.values(this.#queues).map((queue) => queue.run(signal)));
    drained();
    this.#stop.abort(new Error("the operator is stopping"));
    this.#connections.stop();
    for (const queue of Object.values(this.#queues)) queue.close();
  }

  computeChanged(change: Change<Compute>): void {
    const { type, object, previous } = change;
    const { uid, namespace = "" } = object.metadata;
    const { selects } = this.#options.options;
    const woken = this.#claims.change(change);
    if (type === "deleted") this.#computes.gone(object);
    else {
      this.#computes.delivered(object, previous);
      if (previous !== undefined && !selects(previous.metadata.labels) && selects(object.metadata.labels)) {
        this.#computes.entered(uid);
      }
    }
    this.#wake("compute", woken);
    if (type !== "updated" || needOf(previous) !== needOf(object)) this.#wakeConnectionsUsedBy(object, previous);
    const owner = object.metadata.ownerReferences?.find(({ kind }) => kind === "ComputePool");
    if (owner !== undefined) this.#wake("pool", [owner.uid]);
    // Whoever owns it: its name stands in the way of the pool that would give it, or no longer does.
    const pool = type === "updated" ? undefined : this.#options.caches.pools.get(namespace, poolNameIn(object));
    if (pool !== undefined) this.#wake("pool", [pool.metadata.uid]);
  }

  connectionChanged({ type, object, previous }: Change<ServiceConnection>): void {
    const { uid, name, namespace = "" } = object.metadata;
    this.#connectionReconciler.seen(object);
    this.#wake("connection", [uid]);
    this.#wakeUsersOf(namespace, name);
    if (type === "updated" && previous.spec.baseURL === object.spec.baseURL) return;
    // What its Computes lay claim to lies elsewhere now: whoever they were in the way of may go on.
    for (const user of this.#options.caches.users.of(namespace, name))
      this.#wake("compute", this.#claims.movedWith(user));
  }

  poolChanged({ object }: Change<ComputePool>): void {
    this.#wake("pool", [object.metadata.uid]);
  }

  apiKeyChanged({ object }: Change<Secret>): void {
    const { uid, namespace = "" } = object.metadata;
    this.#wake("connection", uidsOf(this.#options.caches.connections.within(namespace)));
    if (this.#connectionReconciler.secretSeen(object)) this.#wake("connection", [uid]);
  }

  connectionSecretChanged({ type, object }: Change<Secret>): void {
    const { labels: labelled, namespace = "", name } = object.metadata;
    const owner = labelled?.[labels.compute];
    if (owner !== undefined) this.#wake("compute", [owner]);
    if (type !== "deleted") return;
    // It stood in the way of whoever names it too, such as one that was restored from a backup under another uid.
    const waiting = this.#options.caches.computes.within(namespace);
    this.#wake("compute", uidsOf(waiting.filter(({ spec }) => spec.connectionSecret?.name === name)));
  }

  /** A complete list of Computes came in. */
  relisted(): void {
    this.#computes.relisted();
    this.#wake("compute", uidsOf(this.#options.caches.computes.list()));
  }

  #queue(kind: Kind, reconcile: (uid: string) => Promise<number | undefined>, workers: number): PassQueue {
    const { clock, random, log, metrics, caches } = this.#options;
    const stopped = this.#stop.signal;
    const lane = (uid: string) => laneOf(kind, uid, caches);
    return new PassQueue({ kind, clock, random, log, metrics, workers, laneOf: lane, reconcile, stopped });
  }

  #wake(kind: Kind, uids: Iterable<string>): void {
    this.#queues[kind].wake(uids);
  }

  #wakeUsersOf(namespace: string, connection: string): void {
    this.#wake("compute", uidsOf(this.#options.caches.users.of(namespace, connection)));
  }

  #wakeConnectionsUsedBy(...versions: readonly (Compute | undefined)[]): void {
    const { connections } = this.#options.caches;
    for (const version of versions) {
      const { metadata, spec } = version ?? {};
      const used = connections.get(metadata?.namespace ?? "", spec?.connectionRef.name ?? "");
      if (used !== undefined) this.#wake("connection", [used.metadata.uid]);
    }
  }

  #note(step: string, compute: Compute, notes: readonly Note[]): void {
    const { log, metrics } = this.#options;
    const { namespace, name } = compute.metadata;
    for (const { type, reason, message } of notes) {
      if (reason === "DriftCorrected") metrics.driftCorrections.add({});
      const fields = { namespace, name, endpoint: recordedID(compute), step, reason };
      if (type === "Warning") log.warn(fields, message);
      else log.info(fields, message);
    }
  }
}

/** What of a Compute touches the connections of its namespace. */
function needOf({ spec, metadata }: Compute): string {
  return JSON.stringify([spec.connectionRef.name, metadata.deletionTimestamp]);
}

/** Of the pool that would name a member like this. */
function poolNameIn({ metadata }: Compute): string {
  return metadata.name.replace(/-\d+$/, "");
}

function names({ metadata, spec }: Compute, namespace: string, connection: string): boolean {
  return (metadata.namespace ?? "") === namespace && spec.connectionRef.name === connection;
}

function uidsOf(objects: readonly { metadata: { uid: string } }[]): string[] {
  return objects.map(({ metadata }) => metadata.uid);
}
