/** Lets a few callers act at once; the others wait, first come, first served. */
export class Slots {
  readonly #most: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Number of callers that act or wait. */
  get taken(): number {
    return this.#taken;
  }

  async take<Result>(act: () => Promise<Result>): Promise<Result> {
    this.#taken += 1;
    if (this.#taken > this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await act();
    } finally {
      this.#taken -= 1;
      this.#waiting.shift()?.();
    }
  }
}
