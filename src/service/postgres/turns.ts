/** Lets callers that need the same thing have it one after another. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `act` when all that were given this key before have ended. */
  take<Result>(key: string, act: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(act, act);
    this.#last.set(key, mine);
    const forget = () => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    mine.then(forget, forget);
    return mine;
  }

  /** Resolves when all that were given out have ended. */
  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.allSettled(this.#last.values());
  }
}
