/** `suspend_timeout_seconds` of a compute that never suspends. */
export const neverSuspend = -1;

/** `suspend_timeout_seconds` that stands for the default of five minutes. */
export const defaultSuspend = 0;

/** The default inactivity period in seconds. */
export const defaultSuspendSeconds = 300;

/** The shortest and the longest inactivity period that can be set, in seconds: a minute and seven days. */
export const shortestSuspendSeconds = 60;
export const longestSuspendSeconds = 604_800;

/** Seconds of inactivity after which a compute suspends; `undefined` where it never does. */
export function suspendAfterSeconds(suspendTimeoutSeconds: number): number | undefined {
  if (suspendTimeoutSeconds === neverSuspend) return undefined;
  return suspendTimeoutSeconds === defaultSuspend ? defaultSuspendSeconds : suspendTimeoutSeconds;
}
