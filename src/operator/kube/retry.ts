import { type Backoff, delayOf, type Random } from "../runtime/clock.ts";
import { ClusterError, isGone, isTooLargeVersion, isTransient } from "./errors.ts";

// Policy after a failed list or watch, as in client-go's reflector: an overloaded API server must not be asked for
// complete lists, so a watch continues from the same version until the server refuses that version.

const backoff: Backoff = { baseMs: 400, factor: 2, maxMs: 30_000, jitter: 0.5 };
/** The longest `Retry-After` that is honoured, in milliseconds: a proxy may ask for hours. */
const longestRetryAfterMs = 300_000;
/** After this many refusals in a row, the version that the watch starts from counts as the cause. */
const patience = 3;
/** A watch refused for this long, in milliseconds, may be refused because of its version, whatever the server says. */
const refusedForMs = 900_000;

/** The wait after this many failures in a row, in milliseconds: as the server asks, and at least the back-off. */
export function delayAfter(error: unknown, failures: number, random: Random): number {
  const asked = error instanceof ClusterError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(Math.min(asked, longestRetryAfterMs), delayOf(backoff, failures, random));
}

/** True if a failed watch is followed by a list; `silentMs` is the time since the API server last sent anything. */
export function needsList(error: unknown, failures: number, silentMs: number): boolean {
  if (isGone(error)) return true;
  // No answer came, so the version of the watch is as good as before.
  if (!(error instanceof ClusterError)) return false;
  if (isTransient(error) && !isTooLargeVersion(error)) return silentMs >= refusedForMs;
  return failures >= patience;
}

/** True if the failures deserve a warning. */
export function isPersistent(failures: number): boolean {
  return failures >= patience;
}
