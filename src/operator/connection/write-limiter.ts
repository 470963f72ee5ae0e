/** How many of those who wait are woken at once: the first may no longer want to write. */
const wokenAtOnce = 3;

export interface WriteTurnOptions {
  /** Has these Computes looked at again. */
  enqueue: (uids: Iterable<string>) => void;
  /** Whether operations of an earlier write still run. */
  busy: () => boolean;
}

/**
 * One write at a time per project: the service locks the project while a write's operations run and refuses others
 * with 423, so whoever wants to write queues here, in order, instead of being refused.
 */
export class ProjectWriteLimiter {
  readonly #options: WriteTurnOptions;
  readonly #waiting = new Set<string>();
  #holder: string | undefined;

  constructor(options: WriteTurnOptions) {
    this.#options = options;
  }

  /** Takes the turn, or queues for it and answers false. The holder keeps it until it gives it back. */
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

  /** This Compute writes no more for now: another that waits may, if the turn is free. */
  give(uid: string): void {
    if (this.#holder === uid) this.#holder = undefined;
    this.offer();
  }

  /** Wakes the first of those who wait, where the turn is free. Who is woken and still wants it asks again. */
  offer(): void {
    if (!this.#free || this.#waiting.size === 0) return;
    const next = [...this.#waiting].slice(0, wokenAtOnce);
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
