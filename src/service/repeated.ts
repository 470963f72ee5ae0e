import type { ServiceClock } from "./clock.ts";

/**
 * Work that is done again and again until it is closed, each time so many milliseconds after it last ended, well or
 * not.
 */
export class Repeated {
  readonly #clock: Pick<ServiceClock, "after">;
  readonly #everyMs: number;
  readonly #work: () => unknown;
  #stopTimer = () => {};
  #underWay: Promise<void> = Promise.resolve();
  readonly #onError: (error: unknown) => void;
  #closed = false;

  constructor(
    clock: Pick<ServiceClock, "after">,
    everyMs: number,
    work: () => unknown,
    onError: (error: unknown) => void,
  ) {
    this.#clock = clock;
    this.#everyMs = everyMs;
    this.#work = work;
    this.#onError = onError;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  begin(): void {
    this.#stopTimer = this.#clock.after(this.#everyMs, () => {
      this.#underWay = this.#once();
    });
  }

  /** Resolves when nothing is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopTimer();
    await this.#underWay;
  }

  async #once(): Promise<void> {
    try {
      const work = this.#work();
      if (work instanceof Promise) await work;
    } catch (error) {
      this.#onError(error);
    }
    if (!this.#closed) this.begin();
  }
}
