import type { Change } from "../kube/store.ts";
import type { Compute } from "../resources/compute.ts";
import { conditionOf } from "../resources/conditions-of.ts";

export interface ComputeCount {
  state: string;
  ready: string;
  count: number;
}

/** How many Computes there are by state and readiness, counted with each change: a scrape reads no Compute. */
export class ComputeCounts {
  readonly #counts = new Map<string, ComputeCount>();

  change({ type, object, previous }: Change<Compute>): void {
    const before = previous ?? (type === "deleted" ? object : undefined);
    if (before !== undefined) this.#add(before, -1);
    if (type !== "deleted") this.#add(object, 1);
  }

  all(): Iterable<ComputeCount> {
    return this.#counts.values();
  }

  #add({ status }: Compute, by: 1 | -1): void {
    const state = status.state ?? "Unknown";
    const ready = conditionOf(status, "Ready")?.status ?? "Unknown";
    const key = JSON.stringify([state, ready]);
    const counted = this.#counts.get(key) ?? { state, ready, count: 0 };
    counted.count += by;
    if (counted.count === 0) this.#counts.delete(key);
    else this.#counts.set(key, counted);
  }
}
