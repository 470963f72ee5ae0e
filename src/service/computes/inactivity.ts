import { suspendAfterSeconds } from "../../api/scale-to-zero.ts";
import type { ServiceContext } from "../context.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import { scaled } from "./durations.ts";

/**
 * Time at which a compute suspends for inactivity; `undefined` while it changes, serves a client or may not suspend at
 * all. Never before `at`, if the compute was inactive already when suspending was allowed.
 */
export function suspendDue(context: ServiceContext, endpoint: StoredEndpoint, at: number): number | undefined {
  if (endpoint.currentState !== "active" || endpoint.pendingState !== undefined) return undefined;
  const end = inactivityEnd(context, endpoint);
  return end === undefined || context.backend.serves(endpoint) ? undefined : Math.max(at, end);
}

/** End of a compute's inactivity period, counted from its last activity; `undefined` if it never suspends. */
export function inactivityEnd(context: ServiceContext, endpoint: StoredEndpoint): number | undefined {
  const seconds = inactivitySeconds(context, endpoint);
  return seconds && (endpoint.lastActive ?? endpoint.createdAt) + scaled(context, seconds * 1000);
}

/** The inactivity after which a compute suspends; `undefined` if it never does. */
export function inactivitySeconds({ options }: ServiceContext, endpoint: StoredEndpoint): number | undefined {
  const { maxCu, suspendTimeoutSeconds } = endpoint;
  return maxCu > options.rules.largestSuspending ? undefined : suspendAfterSeconds(suspendTimeoutSeconds);
}
