import type { EndpointState } from "../../api/endpoint.ts";
import type { ServiceContext } from "../context.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Effect, NewOperation, StoredOperation } from "../store/operations.ts";
import { meter } from "./meter.ts";

/** A change of a compute that begins now, and the state that it leads to. */
interface Begun {
  endpoint: StoredEndpoint;
  at: number;
  pendingState: EndpointState;
}

/** The operations to schedule; waking is a shorter start, and a restart applies what has changed. */
export const steps = {
  start: { action: "start_compute", effect: "start" },
  wake: { action: "wake_compute", effect: "start" },
  suspend: { action: "suspend_compute", effect: "suspend" },
  apply: { action: "apply_config", effect: "none" },
  restart: { action: "apply_config", effect: "start" },
} as const satisfies Record<string, { action: string; effect: Effect }>;
export type Step = (typeof steps)[keyof typeof steps];

/**
 * Schedules a chain of operations on a compute: the first runs from `at`, each other one when the previous one has
 * finished. Updates the endpoint with its pending state; no inactivity timer runs meanwhile.
 */
export function schedule(
  context: ServiceContext,
  { endpoint, at, pendingState }: Begun,
  work: readonly Step[],
): StoredOperation[] {
  const { projectId, branchId, id: endpointId } = endpoint;
  let chain = context.store.operations.unfinishedOf(projectId, endpointId)[0]?.chain;
  const scheduled: StoredOperation[] = [];
  for (const { action: step, effect } of work) {
    const durationMs = begin(context, endpoint, step);
    const action = step === "wake_compute" ? "start_compute" : step;
    const operation = enqueue(context, { projectId, branchId, endpointId, chain, action, effect, durationMs }, at);
    chain = operation.chain;
    scheduled.push(operation);
  }
  endpoint.pendingState = pendingState;
  endpoint.suspendDue = undefined;
  context.store.endpoints.update(endpoint);
  return scheduled;
}

/** Stores an operation: one without a chain runs from `at`, any other waits for those before it in its chain. */
export function enqueue(
  context: ServiceContext,
  operation: Omit<NewOperation, "id" | "status" | "due" | "createdAt">,
  at: number,
): StoredOperation {
  const runs = operation.chain === undefined;
  return context.store.operations.insert({
    ...operation,
    id: context.ids.uuid(),
    status: runs ? "running" : "scheduling",
    due: runs ? context.backend.endOf(at, operation.durationMs) : undefined,
    createdAt: at,
  });
}

/** As `schedule`, and cuts the connections of the compute, which has served until now. */
export function interrupt(context: ServiceContext, begun: Begun, work: readonly Step[]): StoredOperation[] {
  const { endpoint, at } = begun;
  meter(context, endpoint, at);
  if (context.backend.disconnect(endpoint)) endpoint.lastActive = at;
  endpoint.updatedAt = at;
  return schedule(context, begun, work);
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
