import type { MetricsNamespaces } from "./manager/metric-namespaces.ts";
import type { LabelSelector } from "./resources/selector.ts";

/** The settings of `run` that a person chooses, read and checked. */
export interface OperatorOptions {
  /** Namespaces to watch; empty: all. */
  namespaces: readonly string[];
  /** True if this process reconciles a Compute with these labels. */
  selects: LabelSelector;
  /** The namespace of ClusterServiceConnections' Secrets. Left out, or with namespaces to watch: none can be used. */
  clusterResourceNamespace?: string;
  workers: number;
  allowedBaseURLs: readonly string[];
  /** Delay between a create of unknown outcome and the next one, in milliseconds. */
  createSettleMs: number;
  maxDeletesPerMinute: number;
  /** Default: 5. */
  maxBranchDeletesPerMinute?: number | undefined;
  /** `--fleet`; left out: none. */
  fleet?: string | undefined;
  /** `--metrics-namespaces`; left out: the 20 with the most Computes. */
  metricsNamespaces?: MetricsNamespaces | undefined;
  /** The share of each request budget that this process may use, above 0 to 1. */
  budgetShare: number;
  /** Longest time for requests in flight once the operator is to stop, in milliseconds. */
  drainMs: number;
}
