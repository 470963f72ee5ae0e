import type { Clock } from "../../../src/operator/runtime/clock.ts";

/** A clock that work moves on, whose timers wait in `timers` until the test runs them. */
export function workClock() {
  let now = 0;
  const timers: (() => void)[] = [];
  const clock: Clock = {
    now: () => now,
    monotonic: () => now,
    after: (_, run) => {
      timers.push(run);
      return () => {};
    },
  };
  const work = (ms: number) => {
    now += ms;
  };
  return { clock, timers, work };
}
