/** Number of lists that may begin in a row. */
const inARow = 4;

/** From then on, one list per this many milliseconds. */
const everyMs = 1000;

/**
 * Limits how often the lists of one project begin. A few Computes that change together are served at once; many of them
 * share lists. Times on the monotonic clock, in milliseconds.
 */
export class ListRateLimiter {
  /** When the lists so far would have ended had each taken `everyMs`. */
  #paidUntil = Number.NEGATIVE_INFINITY;

  /** The earliest start of the next list. */
  get earliest(): number {
    return this.#paidUntil - (inARow - 1) * everyMs;
  }

  /** A list begins now. */
  begin(now: number): void {
    this.#paidUntil = Math.max(this.#paidUntil, now) + everyMs;
  }
}
