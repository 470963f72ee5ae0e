import { type Backoff, delayOf } from "../runtime/backoff.ts";
import type { Random } from "../runtime/clock.ts";
import { ClusterError, isGone, isTooLargeVersion, isTransient } from "./errors.ts";

// What follows a failed list or watch, by the rules of client-go's reflector: an overloaded API server must not be
// asked for complete lists, so a watch goes on from the same version until the server says that the version is no good.

const backoff: Backoff = { baseMs: 400, factor: 2, maxMs: 30_000, jitter: 0.5 };
/** The longest `Retry-After` that is waited out: a proxy may ask for hours, in milliseconds. */
const longestRetryAfterMs = 300_000;
/** Refusals in a row after which the version that the watch starts from counts as what is refused. */
const patience = 3;
/** A watch that is refused for so long, in milliseconds, may be refused for its version, whatever the server says. */
const refusedForMs = 900_000;

/** How long to wait after that many failures in a row, in milliseconds: as asked, and at least the back-off. */
export function delayAfter(error: unknown, failures: number, random: Random): number {
  const asked = error instanceof ClusterError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(Math.min(asked, longestRetryAfterMs), delayOf(backoff, failures, random));
}

/** Whether a failed watch is followed by a list; `silentMs` is how long ago the API server last said anything. */
export function needsList(error: unknown, failures: number, silentMs: number): boolean {
  if (isGone(error)) return true;
  // Nobody answered, and where the watch was is as good as before.
  if (!(error instanceof ClusterError)) return false;
  if (isTransient(error) && !isTooLargeVersion(error)) return silentMs >= refusedForMs;
  return failures >= patience;
}

/** Whether failures are worth a warning by now. */
export function isPersistent(failures: number): boolean {
  return failures >= patience;
}
