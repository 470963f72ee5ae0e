import type { Timed } from "./actions.ts";
import type { Rates } from "./fault-plan.ts";
import type { Lock } from "./service-host.ts";

/** All that one seed decides about a run; the weather's own dice come from the same seed. */
export interface Script {
  seed: number;
  /** How many operator processes compete for the Lease; one leads without. */
  operators: 1 | 2;
  /** Two operators divide the Computes by label instead, without a Lease. */
  shards?: true;
  /** The Computes go through a ClusterServiceConnection. */
  shared?: true;
  /** `--fleet`, until it is renamed; then all Computes and pools ask for what former ones made. */
  fleet?: string;
  /** The service shows and serves only what its specification shows. */
  strictSpec?: true;
  /** When the service refuses writes with 423, where that is not while an operation of the project runs. */
  lock?: Lock;
  /** `--max-deletes-per-minute`, where it is so low that it is felt. */
  maxDeletesPerMinute?: number;
  /** `spec.refreshInterval` of the connection, where it is not the default. */
  refreshMs?: number;
  rates: Rates;
  actions: readonly Timed[];
  /** When a last entry of schedules ends and a last window opens, once the faults are over. */
  boundaryAtMs?: number;
  /** When the last action is over and the faults stop. */
  calmAtMs: number;
}
