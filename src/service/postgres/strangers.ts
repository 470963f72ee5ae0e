import { inactivitySeconds } from "../computes/inactivity.ts";
import type { ServiceContext } from "../context.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";

/** Precision of `last_active` while clients come and go, in milliseconds: each writing of it goes to the disk. */
const activityMs = 1000;

/** More than the time in which a client logs in or is given up, in milliseconds. */
const loginMs = 90_000;

/** True of a compute that runs, and is not about to change. */
export function isSettled({ currentState, pendingState }: StoredEndpoint): boolean {
  return currentState === "active" && pendingState === undefined;
}

/** True if the time at which a compute was last active need not be written again. */
export function isFresh({ lastActive }: StoredEndpoint, now: number): boolean {
  return lastActive !== undefined && now - lastActive < activityMs;
}

/**
 * True where a compute stays as the store has it for a client that does not log in: strangers that come and leave one
 * after another would be two changes each.
 */
export function isUnchangedByStranger(context: ServiceContext, endpoint: StoredEndpoint): boolean {
  const now = context.clock.now();
  if (!isSettled(endpoint) || !isFresh(endpoint, now)) return false;
  if (endpoint.suspendDue !== undefined) return endpoint.suspendDue > now + loginMs;
  return inactivitySeconds(context, endpoint) === undefined;
}
