import { madeOnce } from "../made-once.ts";

/**
 * Lets a few callers act at once; the others wait. Holders, such as accounts or networks, take turns, and the callers
 * of each come in their order: however many one has, another's caller waits for one of them.
 */
export class Slots {
  readonly #most: number;
  /** By holder, the next one first: its callers that wait. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Number of callers that act or wait. */
  get taken(): number {
    return this.#taken;
  }

  async take<Result>(act: () => Promise<Result>, holder = ""): Promise<Result> {
    this.#taken += 1;
    if (this.#taken > this.#most)
      await new Promise<void>((resolve) => madeOnce(this.#waiting, holder, () => []).push(resolve));
    try {
      return await act();
    } finally {
      this.#taken -= 1;
      this.#beginNext();
    }
  }

  #beginNext(): void {
    const [next] = this.#waiting;
    if (!next) return;
    const [holder, callers] = next;
    const begin = callers.shift();
    this.#waiting.delete(holder);
    if (callers.length > 0) this.#waiting.set(holder, callers);
    begin?.();
  }
}
