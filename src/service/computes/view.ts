import { timestamp } from "../clock.ts";
import type { ServiceContext } from "../context.ts";
import { attributesShown } from "../store/compute-attributes.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { StoredOperation } from "../store/operations.ts";
import { endpointHost, proxyHost } from "./hosts.ts";

/** A compute in the API's form; with `strictSpec` only what the specification shows. */
export function endpointView(context: ServiceContext, endpoint: StoredEndpoint, regionId: string) {
  const shown = {
    id: endpoint.id,
    host: endpointHost(context.options, endpoint.id, regionId),
    project_id: endpoint.projectId,
    branch_id: endpoint.branchId,
    region_id: regionId,
    type: endpoint.type,
    current_state: endpoint.currentState,
    ...(endpoint.pendingState !== undefined && { pending_state: endpoint.pendingState }),
    ...attributesShown(endpoint, true),
    ...(endpoint.lastActive !== undefined && { last_active: timestamp(endpoint.lastActive) }),
    created_at: timestamp(endpoint.createdAt),
    updated_at: timestamp(endpoint.updatedAt),
    proxy_host: proxyHost(context.options, regionId),
  };
  if (context.options.strictSpec) return shown;
  return {
    ...shown,
    ...(endpoint.name !== undefined && { name: endpoint.name }),
    ...(endpoint.startedAt !== undefined && { started_at: timestamp(endpoint.startedAt) }),
    ...(endpoint.suspendedAt !== undefined && { suspended_at: timestamp(endpoint.suspendedAt) }),
    ...attributesShown(endpoint, false),
    creation_source: "console",
  };
}

/** The longest duration that the API shows, in milliseconds: it has 32 bits for one. */
const longest = 2 ** 31 - 1;

/** An operation in the API's form. */
export function operationView(context: ServiceContext, operation: StoredOperation) {
  const shown = {
    id: operation.id,
    project_id: operation.projectId,
    ...(operation.branchId !== undefined && { branch_id: operation.branchId }),
    ...(operation.endpointId !== undefined && { endpoint_id: operation.endpointId }),
    action: operation.action,
    status: operation.status,
    failures_count: operation.failuresCount,
    created_at: timestamp(operation.createdAt),
    updated_at: timestamp(operation.updatedAt),
  };
  if (context.options.strictSpec) return shown;
  return {
    ...shown,
    ...(operation.status === "failed" && { error: operation.error }),
    // The clock may have been set, and the service away for a month, meanwhile.
    total_duration_ms: Math.min(longest, Math.max(0, operation.updatedAt - operation.createdAt)),
  };
}

/** An answer, with the operations that its change has set off. */
export function withOperations<Shown>(context: ServiceContext, shown: Shown, operations: readonly StoredOperation[]) {
  return { ...shown, operations: operationViews(context, operations) };
}

export function operationViews(context: ServiceContext, operations: readonly StoredOperation[]) {
  return operations.map((operation) => operationView(context, operation));
}
