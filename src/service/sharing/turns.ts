import { madeOnce } from "../made-once.ts";
import { Slots } from "./slots.ts";

/** Lets callers that need the same thing have it one by one, or a few at once; the holders of calls take turns. */
export class Turns {
  readonly #most: number;
  readonly #lines = new Map<string, Slots>();
  readonly #given = new Set<Promise<unknown>>();

  /** `most`: the callers of a key that act at once. */
  constructor(most = 1) {
    this.#most = most;
  }

  /** The number of keys that are in use. */
  get lines(): number {
    return this.#lines.size;
  }

  /** Runs `act` when fewer that were given this key run, and those before it of this holder have begun. */
  take<Result>(key: string, act: () => Promise<Result>, holder?: string): Promise<Result> {
    const line = madeOnce(this.#lines, key, () => new Slots(this.#most));
    // Not within this call: the caller may hold a transaction.
    const mine = line.take(() => Promise.resolve().then(act), holder);
    this.#given.add(mine);
    const forget = () => {
      this.#given.delete(mine);
      if (line.taken === 0 && this.#lines.get(key) === line) this.#lines.delete(key);
    };
    mine.then(forget, forget);
    return mine;
  }

  /** Resolves when all that were given out have ended. */
  async idle(): Promise<void> {
    while (this.#given.size > 0) await Promise.allSettled(this.#given);
  }
}
