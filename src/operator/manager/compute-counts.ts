import type { Change } from "../kube/store.ts";
import { readyLabel } from "../objects/conditions-of.ts";
import type { Compute } from "../resources/compute.ts";

export interface ComputeCount {
  namespace: string;
  state: string;
  ready: string;
  count: number;
}

/** Number of Computes by namespace, state and readiness, counted with each change: a scrape reads none. */
export class ComputeCounts {
  readonly #counts = new Map<string, ComputeCount>();
  readonly #byNamespace = new Map<string, number>();
  readonly #waiting = new Map<string, number>();

  change({ type, object, previous }: Change<Compute>): void {
    const before = previous ?? (type === "deleted" ? object : undefined);
    if (before !== undefined) this.#add(before, -1);
    if (type !== "deleted") this.#add(object, 1);
  }

  all(): Iterable<ComputeCount> {
    return this.#counts.values();
  }

  /** Number of Computes of each namespace that has any. */
  byNamespace(): Iterable<[namespace: string, count: number]> {
    return this.#byNamespace;
  }

  /** Number of Computes of a namespace of which a change waits for a window. */
  waitingIn(namespace: string): number {
    return this.#waiting.get(namespace) ?? 0;
  }

  #add({ metadata, status }: Compute, by: 1 | -1): void {
    const { namespace = "" } = metadata;
    const state = status.state ?? "Unknown";
    const ready = readyLabel({ status });
    const key = JSON.stringify([namespace, state, ready]);
    const counted = this.#counts.get(key) ?? { namespace, state, ready, count: 0 };
    counted.count += by;
    if (counted.count === 0) this.#counts.delete(key);
    else this.#counts.set(key, counted);
    const waiting = this.waitingIn(namespace) + (status.waiting === undefined ? 0 : by);
    if (waiting === 0) this.#waiting.delete(namespace);
    else this.#waiting.set(namespace, waiting);
    const inNamespace = (this.#byNamespace.get(namespace) ?? 0) + by;
    if (inNamespace === 0) this.#byNamespace.delete(namespace);
    else this.#byNamespace.set(namespace, inNamespace);
  }
}
