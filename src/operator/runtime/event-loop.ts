import { memoize } from "./caches.ts";
import type { Clock } from "./clock.ts";

/**
 * Time for which callers keep the event loop, all together, before timers and sockets have their turn, in milliseconds.
 */
const sliceMs = 5;

/** Divides the event loop among those who compute for long: answers of many projects can come in at once. */
export class Turns {
  readonly #clock: Clock;
  /** `undefined`: the next caller begins the slice, so one of those who wait goes on, however busy the machine is. */
  #sliceEndsAt: number | undefined = Number.NEGATIVE_INFINITY;
  #nextSlice: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the caller may go on: at once while the slice lasts, else after timers and sockets. */
  async next(signal: AbortSignal): Promise<void> {
    while (this.#isOver()) {
      this.#nextSlice ??= this.#begin();
      await this.#nextSlice;
      signal.throwIfAborted();
    }
  }

  #isOver(): boolean {
    const now = this.#clock.monotonic();
    this.#sliceEndsAt ??= now + sliceMs;
    return now >= this.#sliceEndsAt;
  }

  /** One timer for all who wait: each with its own would begin a slice of its own in the same turn of the loop. */
  #begin(): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(0, () => {
        this.#nextSlice = undefined;
        this.#sliceEndsAt = undefined;
        resolve();
      });
    });
  }
}

/** The turns of a process: it has one clock. */
export const turnsOf = memoize((clock: Clock) => new Turns(clock));
