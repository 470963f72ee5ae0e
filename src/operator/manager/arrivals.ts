import type { Change } from "../kube/store.ts";
import type { OperatorOptions } from "../options.ts";
import type { Compute } from "../resources/compute.ts";
import type { Clock } from "../runtime/clock.ts";

/**
 * The times at which Computes came under this process's selector from outside, in monotonic milliseconds. Kept while it
 * does not lead too: the process that had them may still write for a moment, and this one may lead its shard by then.
 */
export class Arrivals {
  readonly #selects: OperatorOptions["selects"];
  readonly #clock: Clock;
  readonly #at = new Map<string, number>();

  constructor(selects: OperatorOptions["selects"], clock: Clock) {
    this.#selects = selects;
    this.#clock = clock;
  }

  change({ type, object, previous }: Change<Compute>): void {
    const { uid, labels } = object.metadata;
    if (type === "deleted" || !this.#selects(labels)) this.#at.delete(uid);
    else if (previous !== undefined && !this.#selects(previous.metadata.labels)) {
      this.#at.set(uid, this.#clock.monotonic());
    }
  }

  /** `undefined`: it did not come from outside since this process watches. */
  of(uid: string): number | undefined {
    return this.#at.get(uid);
  }
}
