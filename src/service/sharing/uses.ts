/** Counts how often each of several things is in use, such as a directory that servers have files in. */
export class Uses {
  readonly #counts = new Map<string, number>();

  count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  has(key: string): boolean {
    return this.#counts.has(key);
  }

  /** Counts one use more until the returned function is called, once. */
  begin(key: string): () => void {
    this.#counts.set(key, this.count(key) + 1);
    return () => {
      const left = this.count(key) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }

  /** Counts one use more until `act` has ended. */
  async during<Result>(key: string, act: () => Promise<Result>): Promise<Result> {
    const end = this.begin(key);
    try {
      return await act();
    } finally {
      end();
    }
  }

  /** Starts a server; its directory is in use from now until the server has ended, and writes no more. */
  by<Server extends { ended: Promise<unknown> }>(directory: string, start: () => Promise<Server>): Promise<Server> {
    const started = start();
    this.during(directory, async () => (await started).ended).catch(() => {});
    return started;
  }
}
