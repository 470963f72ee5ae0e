import type { Clock } from "../../src/operator/runtime/clock.ts";

/** The machine's own clock, for tests over real sockets. */
export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};
