import type { Clock } from "../../../src/operator/runtime/clock.ts";

/** The machine's clock, on which timers and the monotonic clock run `factor` times faster; wall time is as it is. */
export function quickClock(factor: number): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now() * factor,
    after(ms, task) {
      const timer = setTimeout(task, ms / factor);
      return () => clearTimeout(timer);
    },
  };
}
