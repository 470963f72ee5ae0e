import { monitorEventLoopDelay } from "node:perf_hooks";

/** How often the delay is sampled, in milliseconds. */
const resolution = 20;

/** How late timers ran since the last report, in seconds. */
export interface LoopDelays {
  p50: number;
  p99: number;
  max: number;
}

/** Begins to sample the event loop; each call reports the delays since the one before. */
export function sampleEventLoop(): () => LoopDelays {
  const samples = monitorEventLoopDelay({ resolution });
  samples.enable();
  // A sample is the time between two timers, the interval itself included.
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9 - resolution / 1000);
  return () => {
    const delays = { p50: late(samples.percentile(50)), p99: late(samples.percentile(99)), max: late(samples.max) };
    samples.reset();
    return delays;
  };
}
