/** Number of waiting Computes that are enqueued together: the first may no longer want to write. */
const enqueuedTogether = 3;

export interface WriteLimiterOptions {
  /** Enqueues these Computes. */
  enqueue: (uids: Iterable<string>) => void;
  /** Whether operations of an earlier write still run. */
  busy: () => boolean;
}

/**
 * One write at a time per project: the service locks the project while the operations of a write run and answers 423 to
 * other writes. Computes wait here, in order, instead.
 */
export class ProjectWriteLimiter {
  readonly #options: WriteLimiterOptions;
  readonly #waiting = new Set<string>();
  #holder: string | undefined;

  constructor(options: WriteLimiterOptions) {
    this.#options = options;
  }

  /** Acquires the limiter, or queues the Compute and returns false. The holder keeps it until it gives it back. */
  take(uid: string): boolean {
    if (this.#holder === uid) this.#holder = undefined;
    if (!this.#free) {
      this.#waiting.add(uid);
      return false;
    }
    this.#waiting.delete(uid);
    this.#holder = uid;
    return true;
  }

  /** The Compute writes no more for now: the next waiting Compute may. */
  give(uid: string): void {
    if (this.#holder === uid) this.#holder = undefined;
    this.offer();
  }

  /** Enqueues the first waiting Computes if the limiter is free; a Compute that still wants to write takes it. */
  offer(): void {
    if (!this.#free || this.#waiting.size === 0) return;
    const next = [...this.#waiting].slice(0, enqueuedTogether);
    for (const uid of next) this.#waiting.delete(uid);
    this.#options.enqueue(next);
  }

  leave(uid: string): void {
    this.#waiting.delete(uid);
    this.give(uid);
  }

  get #free(): boolean {
    return this.#holder === undefined && !this.#options.busy();
  }
}
