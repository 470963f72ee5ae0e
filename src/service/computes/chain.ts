import type { EndpointState } from "../../api/endpoint.ts";
import type { ServiceContext } from "../context.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Effect, StoredOperation } from "../store/operations.ts";

/** One operation to schedule; waking is a shorter start. */
export interface Step {
  action: "start_compute" | "wake_compute" | "suspend_compute" | "apply_config";
  effect: Effect;
}

/**
 * Schedules a chain of operations on a compute: the first runs from `at`, each other one when the previous one has
 * finished. Updates the endpoint with its pending state; no inactivity timer runs meanwhile.
 */
export function schedule(
  context: ServiceContext,
  { endpoint, at, pendingState }: { endpoint: StoredEndpoint; at: number; pendingState: EndpointState },
  steps: readonly Step[],
): StoredOperation[] {
  const { projectId, branchId, id: endpointId } = endpoint;
  let chain = context.store.operations.unfinishedOf(projectId, endpointId)[0]?.chain;
  const running = chain === undefined;
  const scheduled: StoredOperation[] = [];
  for (const [index, { action, effect }] of steps.entries()) {
    const durationMs = begin(context, endpoint, action);
    const first = running && index === 0;
    const operation = context.store.operations.insert({
      id: context.ids.uuid(),
      projectId,
      branchId,
      endpointId,
      chain,
      action: action === "wake_compute" ? "start_compute" : action,
      effect,
      status: first ? "running" : "scheduling",
      durationMs,
      due: first ? context.backend.endOf(at, durationMs) : undefined,
      createdAt: at,
    });
    chain = operation.chain;
    scheduled.push(operation);
  }
  endpoint.pendingState = pendingState;
  endpoint.suspendDue = undefined;
  context.store.endpoints.update(endpoint);
  return scheduled;
}

/** The duration of a step, in milliseconds. */
function begin({ backend }: ServiceContext, endpoint: StoredEndpoint, action: Step["action"]): number {
  switch (action) {
    case "start_compute":
      return backend.start(endpoint, "first");
    case "wake_compute":
      return backend.start(endpoint, "wake");
    case "suspend_compute":
      return backend.stop(endpoint);
    case "apply_config":
      return backend.resize(endpoint);
  }
}
