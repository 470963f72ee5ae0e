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

  /** By how much the service's clock was ahead of the monotonic one when that last changed. */
  #runsAheadMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * An answer that has just come shows this time, in milliseconds since the epoch; its request took `tookMs`, so the
   * service may have written it that much earlier. Returns true if the service's clock was set, or this machine slept:
   * whatever waits for a time of that clock waits for another now.
   */
  shown(dateMs: number, tookMs = 0): boolean {
    const aheadMs = dateMs + halfSecondMs - this.#clock.now();
    const laterMs = this.#aheadMs - aheadMs;
    const isNews = laterMs <= -leastMs || laterMs >= leastMs + tookMs;
    const likelyMs = aheadMs + tookMs / 2;
    if (isNews) this.#aheadMs = Math.abs(likelyMs) < leastMs ? 0 : likelyMs;
    this.#apartMs = this.#clock.now() - this.#clock.monotonic();
    const runsAheadMs = this.now() - this.#clock.monotonic();
    const wasSet = Math.abs(runsAheadMs - (this.#runsAheadMs ?? runsAheadMs)) >= leastMs;
    if (wasSet || this.#runsAheadMs === undefined) this.#runsAheadMs = runsAheadMs;
    return wasSet;
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
