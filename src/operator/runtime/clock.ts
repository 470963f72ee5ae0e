/** The time of the operator. `main.ts` injects the real clock; tests drive their own. */
export interface Clock {
  /** Wall time in milliseconds since the epoch, for timestamps. May jump. */
  now(): number;
  /** Monotonic milliseconds, for every duration, deadline and age. */
  monotonic(): number;
  /** Runs `task` once after `ms` milliseconds, unless the returned function is called before. */
  after(ms: number, task: () => void): Cancel;
}

/** Cancels a scheduled task; a late or second call does nothing. */
export type Cancel = () => void;

/** A number in [0, 1), as from Math.random. */
export type Random = () => number;

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
