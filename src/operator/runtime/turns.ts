import { memoize } from "./caches.ts";
import { type Clock, sleep } from "./clock.ts";

/** How long callers keep the event loop, all together, before timers and sockets have their turn, in milliseconds. */
const sliceMs = 10;

/** Divides the event loop among those who compute for long: answers of many projects can come in at once. */
export class Turns {
  readonly #clock: Clock;
  #sliceEndsAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the caller may go on: at once while the slice lasts, else after timers and sockets. */
  async next(signal: AbortSignal): Promise<void> {
    if (this.#clock.monotonic() < this.#sliceEndsAt) return;
    await sleep(this.#clock, 0, signal);
    const now = this.#clock.monotonic();
    if (now >= this.#sliceEndsAt) this.#sliceEndsAt = now + sliceMs;
  }
}

/** Those of a process: it has one clock. */
export const turnsOf = memoize((clock: Clock) => new Turns(clock));
