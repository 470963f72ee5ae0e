import type { Random } from "./clock.ts";

/** How long to wait after the n-th failure in a row. */
export interface Backoff {
  /** The wait after the first failure, in milliseconds. */
  baseMs: number;
  /** The factor of each further failure. */
  factor: number;
  /** The longest wait, in milliseconds. */
  maxMs: number;
  /** The random share of the wait that is left out, 0 to 1: spreads retries of keys that failed together. */
  jitter: number;
}

/** The wait in milliseconds after `failures` failures in a row; never longer than `maxMs`. */
export function delayOf(backoff: Backoff, failures: number, random: Random): number {
  const grown = backoff.baseMs * backoff.factor ** Math.max(0, failures - 1);
  const capped = Math.min(backoff.maxMs, grown);
  return capped * (1 - backoff.jitter * random());
}
