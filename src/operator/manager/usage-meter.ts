import type { Listing } from "../connection/listing.ts";
import type { Metrics } from "../metrics/metrics.ts";

/**
 * Counts compute-unit hours as an upper bound: the largest size of each compute times the time between two lists that
 * both show it active. The size in use is not shown by the service.
 */
export class UsageMeter {
  readonly #metrics: Metrics;
  readonly #before = new Map<string, Listing>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  /** The project is not listed any more. */
  forget(project: string): void {
    this.#before.delete(project);
  }

  listed(project: string, listing: Listing): void {
    const before = this.#before.get(project);
    // If several connections list a project, a list may arrive after one that began later.
    if (before !== undefined && listing.startedAt < before.startedAt) return;
    this.#before.set(project, listing);
    if (before === undefined) return;
    const hours = (listing.startedAt - before.startedAt) / 3_600_000;
    const wasActive = new Set(before.endpoints.filter(isActive).map(({ id }) => id));
    const sizes = listing.endpoints
      .filter((endpoint) => isActive(endpoint) && wasActive.has(endpoint.id))
      .map(({ autoscaling_limit_max_cu: cu }) => cu ?? 0);
    const size = sizes.reduce((sum, cu) => sum + cu, 0);
    if (size > 0) this.#metrics.computeUnitHours.add({ project }, size * hours);
  }
}

function isActive({ current_state }: Listing["endpoints"][number]): boolean {
  return current_state === "active";
}
