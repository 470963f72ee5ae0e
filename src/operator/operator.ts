import { DeletionBrake } from "./compute/execute/deletion-brake.ts";
import { ClusterClient, type ClusterClientOptions } from "./kube/client.ts";
import { EventRecorder } from "./kube/events.ts";
import { alwaysLeader, type Leadership, requireLeader } from "./kube/leadership.ts";
import { LeaderElection } from "./kube/lease.ts";
import { apiVersionOf } from "./kube/objects.ts";
import type { ClusterTransport } from "./kube/transport.ts";
import { Informers } from "./manager/informers.ts";
import { Manager } from "./manager/manager.ts";
import { measureState } from "./manager/state-metrics.ts";
import { createMetrics, type Metrics } from "./metrics/metrics.ts";
import type { OperatorOptions } from "./options.ts";
import { OPERATOR_NAME } from "./resources/names.ts";
import type { Clock, Random } from "./runtime/clock.ts";
import type { Logger } from "./runtime/log.ts";
import { Budgets } from "./service-client/budgets.ts";
import type { ServiceTransport } from "./service-client/transport.ts";

/** The ports through which everything that the operator does leaves, and all that it takes from the world. */
export interface OperatorPorts {
  clusterTransport: ClusterTransport;
  serviceTransport: ServiceTransport;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics?: Metrics;
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

export interface Operator {
  /** Runs until the signal aborts; then what is in flight is finished and the lease given back. */
  run(signal: AbortSignal): Promise<void>;
  /** What is not ready yet, in a sentence; `undefined` once all informers have synced. */
  unready(): string | undefined;
  /** What is stuck, in a sentence; `undefined` where nothing is. */
  stuck(): string | undefined;
  metrics: Metrics;
}

export function createOperator(ports: OperatorPorts, settings: OperatorSettings): Operator {
  const { clock, random, log } = ports;
  const metrics = ports.metrics ?? createMetrics();
  const stop = new AbortController();
  const client = (timeoutMs: number, more: Pick<ClusterClientOptions, "beforeSend" | "onAnswer"> = {}) =>
    new ClusterClient(ports.clusterTransport, {
      clock,
      timeoutMs,
      signal: stop.signal,
      ...more,
      onRequest: ({ method }, status) => metrics.clusterRequests.add({ method, code: String(status) }),
    });
  const { lease } = settings;
  const leadership: Leadership =
    lease === undefined
      ? alwaysLeader
      : new LeaderElection({ client: client(timeouts.lease), clock, random, log, ...lease });
  const mayWrite = requireLeader(leadership);
  const cluster = client(timeouts.write, {
    beforeSend: mayWrite,
    onAnswer: (kind, object, write) => informers.answered(kind, object, write),
  });
  const budgets = new Budgets(clock, (seconds) => metrics.budgetWaits.observe({}, seconds));
  const namesShownBy = new Set<string>();
  const brake = new DeletionBrake(clock, settings.maxDeletesPerMinute);
  let manager: Manager | undefined;
  const { namespaces } = settings;
  const informers = new Informers({ client: client(timeouts.list), clock, random, log, metrics, namespaces });

  metrics.beforeScrape(() => {
    measureState(metrics, {
      leading: leadership.mayWrite(),
      informers,
      connections: manager?.connections,
      deletesHeld: brake.held,
      clock,
    });
  });

  const lead = async (leadSignal: AbortSignal): Promise<void> => {
    await informers.whenSynced(leadSignal).catch(() => {});
    if (leadSignal.aborted) return;
    const events = new EventRecorder({ client: cluster, clock, random, log, component: OPERATOR_NAME });
    manager = new Manager({
      cluster,
      serviceTransport: ports.serviceTransport,
      budgets,
      namesShownBy,
      brake,
      beforeWrite: mayWrite,
      informers,
      clock,
      random,
      log,
      metrics,
      options: settings,
      event: (kind, { metadata }, note) =>
        events.record({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata }, note),
    });
    await manager.run(leadSignal);
    manager = undefined;
    // While the lease is still held: without it no event could be written any more.
    const patience = new AbortController();
    const giveUp = clock.after(2000, () => patience.abort());
    await events.drain(patience.signal);
    giveUp();
  };

  return {
    metrics,
    unready() {
      const kinds = informers.unsynced();
      if (kinds.length === 0) return undefined;
      return `no complete list yet of ${kinds.join(", ")}: are the CRDs installed, and may the operator list these kinds?`;
    },
    stuck() {
      const stuck = manager?.progress().find(({ waiting, oldestWaitMs, lastFinishedAt }) => {
        return waiting > 0 && oldestWaitMs > stuckAfterMs && clock.monotonic() - lastFinishedAt > stuckAfterMs;
      });
      return stuck === undefined ? undefined : `${stuck.waiting} waiting, and no reconcile has ended for two minutes`;
    },
    async run(signal) {
      // What fails here ends everything: a process that only watched would look well.
      const over = new AbortController();
      const running = AbortSignal.any([signal, over.signal]);
      const watching = informers.run(running);
      try {
        await leadership.run({ signal: running, onStarted: lead });
      } finally {
        over.abort();
        stop.abort(new Error("the operator has stopped"));
        await watching;
      }
    },
  };
}
