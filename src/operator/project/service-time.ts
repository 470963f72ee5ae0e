import type { Clock } from "../runtime/clock.ts";

/** `Date` has whole seconds: on average the answer is half of one later. */
const halfSecondMs = 500;

/** A smaller difference between the clocks, in milliseconds, is none: `Date` and the network hide as much. */
const leastMs = 2000;

/** The service's clock, as the `Date` of its answers shows it; this machine's until one does. */
export class ServiceTime {
  readonly #clock: Clock;
  #aheadMs = 0;
  /** The difference of this machine's clocks when an answer last showed the time; absent until one does. */
  #apartMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** An answer that has just come shows this time, in milliseconds since the epoch. */
  shown(dateMs: number): void {
    const aheadMs = dateMs + halfSecondMs - this.#clock.now();
    const isNews = Math.abs(aheadMs - this.#aheadMs) >= leastMs;
    if (isNews) this.#aheadMs = Math.abs(aheadMs) < leastMs ? 0 : aheadMs;
    this.#apartMs = this.#clock.now() - this.#clock.monotonic();
  }

  /** False if somebody set this machine's clock, or the machine slept, since an answer showed the time. */
  get isKnown(): boolean {
    if (this.#apartMs === undefined) return true;
    return Math.abs(this.#clock.now() - this.#clock.monotonic() - this.#apartMs) < leastMs;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#clock.now() + this.#aheadMs;
  }
}
