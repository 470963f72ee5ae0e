const backoff = { firstMs: 50, mostMs: 30_000 };

/** A work queue with a bound number of workers: each key once, retried with exponential backoff where it fails. */
export class Queue {
  readonly #workers: number;
  readonly #handle: (key: string) => Promise<number | undefined>;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #failures = new Map<string, number>();

  /** `handle` answers the milliseconds until the key is due again, if it is. */
  constructor(workers: number, handle: (key: string) => Promise<number | undefined>) {
    this.#workers = workers;
    this.#handle = handle;
  }

  add(key: string): void {
    this.#waiting.add(key);
    this.#next();
  }

  #addAfter(key: string, ms: number): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.set(
      key,
      setTimeout(() => this.add(key), ms),
    );
  }

  #next(): void {
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#workers) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
  }

  async #run(key: string): Promise<void> {
    try {
      const due = await this.#handle(key);
      this.#failures.delete(key);
      if (due !== undefined) this.#addAfter(key, due);
    } catch {
      const failures = this.#failures.get(key) ?? 0;
      this.#failures.set(key, failures + 1);
      this.#addAfter(key, Math.min(backoff.mostMs, backoff.firstMs * 2 ** failures));
    }
    this.#running.delete(key);
    this.#next();
  }
}
