import type { Random } from "../clock.ts";
import type { ServiceOptions } from "../options.ts";

/** The options say how fast the service's time runs. */
interface Scale {
  options: ServiceOptions;
}

/** The duration of each action at normal speed, in milliseconds: the minimum, and a random addition at most. */
const durations = {
  start_compute: [400, 250],
  wake_compute: [200, 200],
  suspend_compute: [100, 150],
  apply_config: [150, 200],
  create_branch: [150, 150],
  create_timeline: [150, 150],
} as const satisfies Record<string, readonly [number, number]>;

export type TimedAction = keyof typeof durations;

/** The duration of one operation, in milliseconds of the service's scaled time. */
export function durationOf(context: Scale & { random: Random }, action: TimedAction): number {
  const [least, spread] = durations[action];
  return scaled(context, least + spread * context.random());
}

/** Converts milliseconds to the service's scaled time, which `--time-scale` makes run faster; at least 1. */
export function scaled(context: Scale, ms: number): number {
  return Math.max(1, Math.round(ms / context.options.timeScale));
}
