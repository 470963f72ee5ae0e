import type { Random } from "./clock.ts";

/** How long to wait after the n-th failure in a row. */
export interface Backoff {
  /** The wait after the first failure, in milliseconds. */
  baseMs: number;
  /** By how much each further failure multiplies the wait. */
  factor: number;
  /** The longest wait, in milliseconds. */
  maxMs: number;
  /** The share of the wait that chance may take away, 0 (none) to 1 (all of it): spreads those that failed together. */
  jitter: number;
}

/** The wait in milliseconds after `failures` failures in a row; never longer than `maxMs`. */
export function delayOf(backoff: Backoff, failures: number, random: Random): number {
  const grown = backoff.baseMs * backoff.factor ** Math.max(0, failures - 1);
  const capped = Math.min(backoff.maxMs, grown);
  return capped * (1 - backoff.jitter * random());
}
