import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

const prefix = "compute_operator_";
/** Values of a label that are shown. Further ones count as `other`: no fleet or service can flood the monitoring. */
const mostValues = 64;
/** The same for `namespace`: --metrics-namespaces bounds the values shown at a time, and they change over time. */
const mostNamespaces = 2000;
const longestValue = 64;

type Labels<N extends string> = Readonly<Record<N, string>>;

/** The metrics of the operator; names and labels are public, and documented by their help texts. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Metrics in a new registry; `processMetrics` adds those of Node and the process. */
export function createMetrics(options: { processMetrics?: boolean } = {}) {
  const registry = new Registry();
  const make = makers(registry);
  const metrics = { ...metricsOfRun(make), ...metricsOfFleet(make) };
  const computed: (() => void)[] = [];
  if (options.processMetrics === true) {
    // The default metrics' own sampling of the event loop is rare, because the one below is finer.
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 200 });
    const delays = sampleEventLoop();
    computed.push(() => {
      for (const [statistic, seconds] of Object.entries(delays())) metrics.eventLoopDelay.set({ statistic }, seconds);
    });
  }
  return {
    ...metrics,
    /** Runs before each scrape, for gauges that are computed. */
    beforeScrape(compute: () => void): void {
      computed.push(compute);
    },
    /** The text for a scrape of /metrics. */
    text(): Promise<string> {
      for (const compute of computed) compute();
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

type Makers = ReturnType<typeof makers>;

/** Metrics of the run: reconciles and requests. */
function metricsOfRun({ counter, gauge, histogram }: Makers) {
  return {
    reconciles: counter("reconcile_total", "Reconciles of an object, by outcome.", ["kind", "result"]),
    reconcileSeconds: histogram("reconcile_duration_seconds", "How long a reconcile took.", ["kind"]),
    queueDepth: gauge("queue_depth", "Objects that wait for a worker.", ["kind"]),
    queueSeconds: histogram("queue_latency_seconds", "How long an object waited for a worker.", ["kind"]),
    retries: counter("queue_retries_total", "Reconciles that are repeated because they failed.", ["kind"]),
    serviceRequests: counter("service_requests_total", "Requests to the service; code is none where no answer came.", [
      "method",
      "route",
      "code",
    ]),
    serviceSeconds: histogram("service_request_duration_seconds", "How long the service took to answer.", [
      "method",
      "route",
    ]),
    budgetAvailable: gauge(
      "request_budget_available",
      "Requests that may be sent now, by base URL and key.",
      ["account"],
      Math.min,
    ),
    endpointListAge: gauge(
      "endpoint_list_age_seconds",
      "Age of the endpoint list in use, by project.",
      ["project"],
      Math.max,
    ),
    refreshInterval: gauge(
      "refresh_interval_seconds",
      "Time between two lists of one project: the interval asked for, and what the request budget allows.",
      ["connection"],
      Math.max,
    ),
    clusterRequests: counter("cluster_requests_total", "Requests to the API server, watches and leases included.", [
      "method",
      "code",
    ]),
    budgetWaits: histogram("request_budget_wait_seconds", "How long requests waited for the budget.", []),
    watchRestarts: counter("watch_restarts_total", "Watches opened again, by cause.", ["kind", "cause"]),
    relists: counter("relists_total", "Complete lists read from the API server, by cause.", ["kind", "cause"]),
    lastEventAge: gauge("watch_last_event_age_seconds", "Time since a watch last delivered anything.", ["kind"]),
    eventLoopDelay: gauge(
      "event_loop_delay_seconds",
      "How late the event loop was since the scrape before: p50, p99 and max.",
      ["statistic"],
    ),
    guardStops: counter(
      "guard_stops_total",
      "Writes that the last guard stopped because proof or claim was missing: each is a defect of the operator.",
      ["rule"],
    ),
    leader: gauge("leader", "1 while this process holds the lease, else 0.", []),
  };
}

/** Metrics of the Computes and Branches, by namespace where that is known. */
function metricsOfFleet({ counter, gauge }: Makers) {
  return {
    computes: gauge("computes", "Computes by state and readiness.", ["namespace", "state", "ready"]),
    driftCorrections: counter("drift_corrections_total", "Changes made outside the operator that were corrected.", [
      "namespace",
    ]),
    changesWaiting: gauge(
      "changes_waiting",
      "Computes of which a change waits for a window, or for other members of its pool.",
      ["namespace"],
    ),
    orphanedEndpoints: gauge("orphaned_endpoints", "With --fleet, endpoints of it that no Compute has.", []),
    branches: gauge("branches", "Branches by state and readiness.", ["namespace", "state", "ready"]),
    branchesEnding: gauge("branches_ending", "Branches that the service deletes within a day.", []),
    branchLeasesLate: gauge("branch_leases_late", "Branches whose lease is in its last quarter and not renewed.", []),
    branchNamesEnding: gauge(
      "branch_names_ending",
      "Branches whose name is taken by another owner's branch that ends within a day.",
      [],
    ),
    branchDeletesHeld: gauge(
      "branch_deletes_held",
      "Deletions that wait because of --max-branch-deletes-per-minute.",
      [],
    ),
    deletesHeld: gauge("deletes_held", "Deletions that wait because of --max-deletes-per-minute.", []),
    operations: counter("operations_total", "Operations of the service that ended, by outcome.", [
      "namespace",
      "action",
      "outcome",
    ]),
    computeUnitHours: counter(
      "compute_unit_hours_bound_total",
      "Upper bound of the compute-unit hours used: largest size times active time seen.",
      ["namespace", "project"],
    ),
  };
}

function makers(registry: Registry) {
  const registers = [registry];
  return {
    counter: <const N extends string>(name: string, help: string, labelNames: readonly N[]) => {
      const metric = new Counter({ name: prefix + name, help, labelNames, registers });
      const series = new Map<string, Partial<Record<N, string>>>();
      const bounded = bound(labelNames, (label, value) => {
        for (const [key, labels] of series) {
          if (labels[label] !== value) continue;
          metric.remove(labels);
          series.delete(key);
        }
      });
      if (labelNames.length === 0) metric.inc(0);
      return {
        add(labels: Labels<N>, by = 1): void {
          const shown = bounded.of(labels);
          series.set(JSON.stringify(shown), shown);
          metric.inc(shown, by);
        },
        /** Stops counting a value of a label: its series stay until another value needs the room. */
        retire: (label: N, value: string): void => bounded.retire(label, value),
      };
    },
    gauge: <const N extends string>(
      name: string,
      help: string,
      labelNames: readonly N[],
      worst?: (a: number, b: number) => number,
    ) => {
      const metric = new Gauge({ name: prefix + name, help, labelNames, registers });
      const bounded = bound(labelNames);
      const worstOf = new Map<string, number>();
      return {
        set(labels: Labels<N>, value: number): void {
          const shown = bounded.of(labels);
          const series = JSON.stringify(shown);
          if (worst !== undefined) worstOf.set(series, worst(worstOf.get(series) ?? value, value));
          metric.set(shown, worstOf.get(series) ?? value);
        },
        add: (labels: Labels<N>, by: number): void => metric.inc(bounded.of(labels), by),
        /** Drops every series, for gauges that are recounted each time. */
        reset(): void {
          bounded.reset();
          worstOf.clear();
          metric.reset();
        },
      };
    },
    /** In the unit of the name: seconds. */
    histogram: <const N extends string>(name: string, help: string, labelNames: readonly N[]) => {
      const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
      const metric = new Histogram({ name: prefix + name, help, labelNames, buckets, registers });
      const bounded = bound(labelNames);
      return { observe: (labels: Labels<N>, value: number) => metric.observe(bounded.of(labels), value) };
    },
  };
}

/**
 * Bounds each label to `mostValues` values of bounded length. A value that was retired makes room for a new one: `drop`
 * removes its series.
 */
function bound<N extends string>(labelNames: readonly N[], drop: (label: N, value: string) => void = () => {}) {
  /** By label, each value and whether it is in use. */
  const seen = new Map<N, Map<string, boolean>>(labelNames.map((name) => [name, new Map()]));
  const shownAs = (name: N, values: Map<string, boolean>, value: string): string => {
    const most = name === "namespace" ? mostNamespaces : mostValues;
    if (values.size >= most && !values.has(value)) {
      const retired = [...values].find(([, isUsed]) => !isUsed)?.[0];
      if (retired === undefined) return "other";
      values.delete(retired);
      drop(name, retired);
    }
    values.set(value, true);
    return value;
  };
  return {
    of(labels: Labels<N>): Partial<Record<N, string>> {
      const bounded: Partial<Record<N, string>> = {};
      for (const [name, values] of seen) bounded[name] = shownAs(name, values, labels[name].slice(0, longestValue));
      return bounded;
    },
    reset(): void {
      for (const values of seen.values()) values.clear();
    },
    retire(name: N, value: string): void {
      const shown = value.slice(0, longestValue);
      if (seen.get(name)?.has(shown) === true) seen.get(name)?.set(shown, false);
    },
  };
}

/** Interval of the samples, in milliseconds. */
const resolution = 20;

/** Begins to sample the event loop; each call reports how late timers ran since the one before, in seconds. */
function sampleEventLoop(): () => Record<"p50" | "p99" | "max", number> {
  const samples = monitorEventLoopDelay({ resolution });
  samples.enable();
  // A sample is the time between two timers, the interval itself included.
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolution / 1000);
  return () => {
    const delays = { p50: late(samples.percentile(50)), p99: late(samples.percentile(99)), max: late(samples.max) };
    samples.reset();
    return delays;
  };
}
