import type { Clock } from "./runtime/clock.ts";

/** Lets so many deletions out per minute, whoever asks for them: a brake on mistakes, not a rate. */
export class DeletionBrake {
  readonly #clock: Clock;
  readonly #perMinute: number;
  #released: number[] = [];

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Whether one more may go now; if so it counts. */
  release(): boolean {
    const now = this.#clock.monotonic();
    this.#released = this.#released.filter((at) => now - at < 60_000);
    if (this.#released.length >= this.#perMinute) return false;
    this.#released.push(now);
    return true;
  }
}
