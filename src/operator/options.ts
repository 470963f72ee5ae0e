import type { MetricsNamespaces } from "./manager/namespace-labels.ts";

/** What `run` lets a person choose, read and checked. */
export interface OperatorOptions {
  /** Namespaces to watch; empty: all. */
  namespaces: readonly string[];
  /** Whether a Compute with these labels is reconciled by this process. */
  selects: (labels: Readonly<Record<string, string>> | undefined) => boolean;
  /**
   * Where the Secrets of ClusterServiceConnections lie. Left out, or with namespaces to watch: none can be used.
   */
  clusterResourceNamespace?: string;
  workers: number;
  allowedBaseURLs: readonly string[];
  /** How long after a create of unknown outcome another may be sent, in milliseconds. */
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
  /** How long requests in flight may take once the operator is to stop, in milliseconds. */
  drainMs: number;
}
