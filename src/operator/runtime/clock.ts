/** The time of the operator. `main.ts` injects the real clock; tests drive their own. */
export interface Clock {
  /** Wall time in milliseconds since the epoch, for timestamps. May jump. */
  now(): number;
  /** Monotonic milliseconds, for every duration, deadline and age. */
  monotonic(): number;
  /**
   * Runs `task` once after `ms` milliseconds, unless the returned function is called before. May be early by less than
   * `earlyMs`: who is called for what is due counts it as due, or looks again and waits for the rest.
   */
  after(ms: number, task: () => void): Cancel;
}

/** Timers of Node fire earlier than asked by up to this much, in milliseconds: a quarter of them on a busy machine. */
export const earlyMs = 1;

/** Cancels a scheduled task; a late or second call does nothing. */
export type Cancel = () => void;

/** A number in [0, 1), as from Math.random. */
export type Random = () => number;

/** The least of several times or delays; `undefined`: none is known. */
export function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((at) => at !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    signal.addEventListener("abort", onAbort);
  });
}

/** The promise's outcome, or a rejection with the signal's reason as soon as it aborts. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Waits after failures in a row. */
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
