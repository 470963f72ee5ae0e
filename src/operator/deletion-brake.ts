import type { Clock } from "./runtime/clock.ts";

/** Who was held back and has not asked again for so long no longer wants to, in milliseconds. */
const asksAgainWithinMs = 30_000;

/** Lets so many deletions out per minute, whoever asks for them: a brake on mistakes, not a rate. */
export class DeletionBrake {
  readonly #clock: Clock;
  readonly #perMinute: number;
  #released: number[] = [];
  /** Who was held back, and when they last asked. */
  readonly #held = new Map<string, number>();

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** How many wait because of the brake. */
  get held(): number {
    const now = this.#clock.monotonic();
    for (const [who, askedAt] of this.#held) if (now - askedAt > asksAgainWithinMs) this.#held.delete(who);
    return this.#held.size;
  }

  /** Whether one more may go now; if so it counts. */
  release(who: string): boolean {
    const now = this.#clock.monotonic();
    this.#released = this.#released.filter((at) => now - at < 60_000);
    if (this.#released.length >= this.#perMinute) {
      this.#held.set(who, now);
      return false;
    }
    this.#held.delete(who);
    this.#released.push(now);
    return true;
  }
}
