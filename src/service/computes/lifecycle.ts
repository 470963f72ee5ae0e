import type { ServiceContext } from "../context.ts";
import { refusals } from "../refusal.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import { interrupt, type Step, steps } from "./chain.ts";
import type { Changed } from "./create.ts";
import { refuseWhileBusy, refuseWhileLocked } from "./lock.ts";
import { meter } from "./meter.ts";
import { refuseProtected } from "./protection.ts";

/** Starts an idle compute; one that runs is left alone. */
export function startEndpoint(context: ServiceContext, endpoint: StoredEndpoint, at: number): Changed {
  refuseDisabled(endpoint, "start");
  if (endpoint.currentState === "active" && endpoint.pendingState === undefined) return { endpoint, operations: [] };
  return setOff(context, endpoint, at, "active", [steps.wake]);
}

/** Suspends a running compute and cuts its connections; one that is idle is left alone. */
export function suspendEndpoint(context: ServiceContext, endpoint: StoredEndpoint, at: number): Changed {
  if (endpoint.pendingState !== undefined) throw refusals.inTransition("suspend");
  if (endpoint.currentState === "idle") return { endpoint, operations: [] };
  return setOff(context, endpoint, at, "idle", [steps.suspend]);
}

/** Restarts a compute and cuts its connections; one that is idle has nothing to suspend and is only started. */
export function restartEndpoint(context: ServiceContext, endpoint: StoredEndpoint, at: number): Changed {
  refuseDisabled(endpoint, "restart");
  const { start, suspend } = steps;
  return setOff(context, endpoint, at, "active", endpoint.currentState === "idle" ? [start] : [suspend, start]);
}

/**
 * Removes a compute at once: no operation is scheduled, so the project's lock does not stand in the way, but its own
 * running operations do.
 */
export function deleteEndpoint(context: ServiceContext, endpoint: StoredEndpoint, at: number): Changed {
  const branch = context.store.branches.get(endpoint.projectId, endpoint.branchId);
  if (branch) refuseProtected(branch, "a compute of a protected branch cannot be deleted");
  refuseWhileBusy(context, endpoint.projectId, endpoint.id);
  meter(context, endpoint, at);
  context.store.endpoints.delete(endpoint);
  return { endpoint, operations: [] };
}

function setOff(
  context: ServiceContext,
  endpoint: StoredEndpoint,
  at: number,
  pendingState: "active" | "idle",
  work: readonly Step[],
): Changed {
  refuseWhileLocked(context, endpoint.projectId, endpoint.id);
  return { endpoint, operations: interrupt(context, { endpoint, at, pendingState }, work) };
}

function refuseDisabled(endpoint: StoredEndpoint, doing: string): void {
  if (endpoint.disabled) {
    throw refusals.conflict(`endpoint ${endpoint.id} is disabled: set disabled to false before you ${doing} it`);
  }
}
