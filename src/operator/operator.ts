import { ClusterClient, type ClusterClientOptions } from "./kube/client.ts";
import { EventRecorder } from "./kube/events.ts";
import { alwaysLeader, type Leadership, requireLeader } from "./kube/leadership.ts";
import { LeaderElection } from "./kube/lease.ts";
import { apiVersionOf } from "./kube/objects.ts";
import type { ClusterTransport } from "./kube/transport.ts";
import { Informers } from "./manager/informers.ts";
import { Manager } from "./manager/manager.ts";
import { MetricNamespaces } from "./manager/metric-namespaces.ts";
import { measureState } from "./manager/state-metrics.ts";
import { createMetrics, type Metrics } from "./metrics/metrics.ts";
import type { OperatorOptions } from "./options.ts";
import { DeletionBrake } from "./project/deletion-brake.ts";
import { OPERATOR_NAME } from "./resources/names.ts";
import type { RuntimePorts } from "./runtime/log.ts";
import { noTracer, type Tracer } from "./runtime/tracer.ts";
import { unlessStopped } from "./runtime/unattended.ts";
import { Budgets } from "./service-client/budgets.ts";
import type { ServiceTransport } from "./service-client/transport.ts";

/** The ports through which everything that the operator does leaves, and all that it takes from the world. */
export interface OperatorPorts extends RuntimePorts {
  clusterTransport: ClusterTransport;
  serviceTransport: ServiceTransport;
  metrics?: Metrics;
  /** Default: no traces. */
  tracer?: Tracer | undefined;
}

export interface OperatorSettings extends OperatorOptions {
  /** Left out: no election, this process always leads. */
  lease?: { namespace: string; name: string; identity: string };
}

/**
 * Deadlines of requests to the API server, in milliseconds. A write's is below lease duration less renew deadline, so
 * that none is in flight when another leader may begin; a lease's below the renew deadline.
 */
const timeouts = { list: 30_000, write: 4_500, lease: 4_500 } as const;

/** Work that waits this long without any pass ending means that the loop is stuck, in milliseconds. */
const stuckAfterMs = 120_000;

export function createOperator(ports: OperatorPorts, settings: OperatorSettings): Operator {
  return new Operator(ports, settings);
}

/** The parts that live as long as the process; a `Manager` exists only while it leads. */
export class Operator {
  readonly metrics: Metrics;
  readonly #tracer: Tracer;
  readonly #ports: OperatorPorts;
  readonly #settings: OperatorSettings;
  readonly #stop = new AbortController();
  readonly #leadership: Leadership;
  readonly #informers: Informers;
  readonly #budgets: Budgets;
  readonly #namesShownBy = new Set<string>();
  readonly #brake: DeletionBrake;
  readonly #branchBrake: DeletionBrake;
  readonly #namespaces: MetricNamespaces;
  #manager: Manager | undefined;

  constructor(ports: OperatorPorts, settings: OperatorSettings) {
    this.#ports = ports;
    this.#settings = settings;
    this.metrics = ports.metrics ?? createMetrics();
    this.#tracer = ports.tracer ?? noTracer;
    const { clock, random, log } = ports;
    const { lease, namespaces, clusterResourceNamespace, selects } = settings;
    this.#leadership =
      lease === undefined
        ? alwaysLeader
        : new LeaderElection({ client: this.#client(timeouts.lease), clock, random, log, ...lease });
    const client = this.#client(timeouts.list);
    const watched = { namespaces, clusterResourceNamespace, selects };
    this.#informers = new Informers({ client, clock, random, log, metrics: this.metrics, ...watched });
    this.#budgets = new Budgets(clock, (seconds) => this.metrics.budgetWaits.observe({}, seconds));
    this.#brake = new DeletionBrake(clock, settings.maxDeletesPerMinute);
    this.#branchBrake = new DeletionBrake(clock, settings.maxBranchDeletesPerMinute ?? 5);
    this.#namespaces = new MetricNamespaces(settings.metricsNamespaces ?? 20, this.#informers.counts);
    this.metrics.beforeScrape(() =>
      measureState(this.metrics, {
        leading: this.#leadership.mayWrite(),
        informers: this.#informers,
        namespaces: this.#namespaces,
        connections: this.#manager?.connections,
        deletesHeld: this.#brake.held,
        branchDeletesHeld: this.#branchBrake.held,
        queued: this.#manager?.queued ?? { compute: 0, connection: 0, pool: 0, branch: 0 },
        clock,
      }),
    );
  }

  /** A sentence about the kinds without a complete list; `undefined` once all informers have synced. */
  unready(): string | undefined {
    const kinds = this.#informers.unsynced();
    if (kinds.length === 0) return undefined;
    return `no complete list yet of ${kinds.join(", ")}: are the CRDs installed, and may the operator list these kinds?`;
  }

  /** A sentence about the queue that is stuck; `undefined` where none is. */
  stuck(): string | undefined {
    const now = this.#ports.clock.monotonic();
    const stuck = this.#manager?.progress().find(({ waiting, oldestWaitMs, lastFinishedAt }) => {
      return waiting > 0 && oldestWaitMs > stuckAfterMs && now - lastFinishedAt > stuckAfterMs;
    });
    return stuck === undefined ? undefined : `${stuck.waiting} waiting, and no reconcile has ended for two minutes`;
  }

  /** Runs until the signal aborts; then what is in flight is finished and the lease given back. */
  async run(signal: AbortSignal): Promise<void> {
    // An error here ends the process: one that only watched would look healthy.
    const over = new AbortController();
    const running = AbortSignal.any([signal, over.signal]);
    const watching = this.#informers.run(running);
    try {
      await this.#leadership.run({ signal: running, onStarted: (leading) => this.#lead(leading) });
    } finally {
      over.abort();
      this.#stop.abort(new Error("the operator has stopped"));
      await watching;
    }
  }

  async #lead(signal: AbortSignal): Promise<void> {
    const { clock, random, log, serviceTransport } = this.#ports;
    const informers = this.#informers;
    await informers.whenSynced(signal).catch(unlessStopped(signal));
    if (signal.aborted) return;
    const beforeWrite = requireLeader(this.#leadership);
    const cluster = this.#client(timeouts.write, {
      beforeSend: beforeWrite,
      onAnswer: (kind, object, write) => informers.answered(kind, object, write),
    });
    const events = new EventRecorder({ client: cluster, clock, random, log, component: OPERATOR_NAME });
    this.#manager = new Manager({
      cluster,
      serviceTransport,
      budgets: this.#budgets,
      namesShownBy: this.#namesShownBy,
      brake: this.#brake,
      branchBrake: this.#branchBrake,
      beforeWrite,
      informers,
      clock,
      random,
      log,
      metrics: this.metrics,
      tracer: this.#tracer,
      namespaces: this.#namespaces,
      options: this.#settings,
      event: (kind, { metadata }, note) =>
        events.record({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata }, note),
    });
    await this.#manager.run(signal);
    this.#manager = undefined;
    // While the lease is still held: without it no event could be written any more.
    const patience = new AbortController();
    const giveUp = clock.after(2000, () => patience.abort());
    await events.drain(patience.signal);
    giveUp();
  }

  #client(timeoutMs: number, more: Pick<ClusterClientOptions, "beforeSend" | "onAnswer"> = {}): ClusterClient {
    return new ClusterClient(this.#ports.clusterTransport, {
      clock: this.#ports.clock,
      timeoutMs,
      signal: this.#stop.signal,
      ...more,
      onRequest: ({ method, path: route }, status, seconds) => {
        const code = String(status);
        this.metrics.clusterRequests.add({ method, code });
        this.#tracer.requested({ to: "kubernetes", method, route, code, seconds });
      },
    });
  }
}
