/** A list may be begun at once when the last ones lie far enough back: so many in a row. */
const inARow = 4;

/** From then on one each so many milliseconds. */
const everyMs = 1000;

/**
 * How close together the lists of one project may begin. A few Computes that come or change together are served at
 * once; a storm of them shares its lists. Times on the monotonic clock, in milliseconds.
 */
export class ListRateLimiter {
  /** When the lists begun so far would all have been due, had they kept their distance. */
  #paidUntil = Number.NEGATIVE_INFINITY;

  /** The earliest time at which the next may begin. */
  get earliest(): number {
    return this.#paidUntil - (inARow - 1) * everyMs;
  }

  /** One begins now. */
  begin(now: number): void {
    this.#paidUntil = Math.max(this.#paidUntil, now) + everyMs;
  }
}
