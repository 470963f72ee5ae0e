import { maxPooledConnections } from "../../api/compute-units.ts";
import { timestamp } from "../clock.ts";
import type { ServiceContext } from "../context.ts";
import { refusals, required } from "../refusal.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import { schedule, steps } from "./chain.ts";
import { meter } from "./meter.ts";

/** For how long a client connects, and whether through the pooler. */
export interface ConnectionRequest {
  seconds: number;
  pooled: boolean;
}

/**
 * Simulates a client that connects to a compute and stays for some seconds. An idle compute wakes for it, and its
 * inactivity timer restarts when the connection ends.
 */
export function connect(
  context: ServiceContext,
  endpointId: string,
  { seconds, pooled }: ConnectionRequest,
  at: number,
) {
  const endpoint = required("endpoint", context.store.endpoints.byId(endpointId));
  if (context.backend.address) throw refusals.realClientsConnect(context.backend.address);
  if (endpoint.disabled) throw refusals.conflict(`endpoint ${endpointId} is disabled: it takes no connections`);
  const limit = mostClients(context, endpoint, pooled);
  const open = context.backend.connections(endpoint, pooled);
  if (open >= limit) {
    throw refusals.tooManyRequests(`endpoint ${endpointId} already has its ${limit} connections`, 1);
  }
  const connectedAt = arrive(context, endpoint, at);
  const closesAt = connectedAt + Math.round(seconds * 1000);
  context.backend.connect(endpoint, { pooled, closesAt });
  return {
    endpoint_id: endpointId,
    pooled,
    connections: open + 1,
    max_connections: limit,
    connected_at: timestamp(connectedAt),
    closes_at: timestamp(closesAt),
  };
}

/** The most connections that a compute takes, directly or through the pooler. */
export function mostClients({ options }: ServiceContext, { minCu: min, maxCu: max }: StoredEndpoint, pooled: boolean) {
  return pooled ? maxPooledConnections : options.rules.maxConnections({ min, max });
}

/** Wakes a compute for a client, and stops its inactivity timer; answers when it will be active. */
export function arrive(context: ServiceContext, endpoint: StoredEndpoint, at: number): number {
  const activeAt = wake(context, endpoint, at);
  meter(context, endpoint, at);
  endpoint.lastActive = at;
  endpoint.suspendDue = undefined;
  context.store.endpoints.update(endpoint);
  return activeAt;
}

/** Makes sure that a compute starts; returns when it will be active, as far as that is known. */
function wake(context: ServiceContext, endpoint: StoredEndpoint, at: number): number {
  const { operations } = context.store;
  if (endpoint.currentState === "active" && endpoint.pendingState === undefined) return at;
  if (endpoint.pendingState !== "active") {
    schedule(context, { endpoint, at, pendingState: "active" }, [steps.wake]);
  }
  const [running, ...waiting] = operations.unfinishedOf(endpoint.projectId, endpoint.id);
  return waiting.reduce((end, { durationMs }) => end + durationMs, running?.due ?? at);
}
