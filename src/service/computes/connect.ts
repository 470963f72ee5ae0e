import { maxConnections, maxPooledConnections } from "../../api/compute-units.ts";
import { timestamp } from "../clock.ts";
import { refusals } from "../refusal.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { World } from "../world.ts";
import { schedule } from "./chain.ts";
import { meter } from "./meter.ts";

/** How a client connects: for how long, and whether through the pooler. */
export interface ConnectionRequest {
  seconds: number;
  pooled: boolean;
}

/**
 * Plays a client that connects to a compute and stays connected for some seconds. An idle compute wakes for it, and
 * its inactivity timer begins anew when the connection ends.
 */
export function connect(world: World, endpointId: string, { seconds, pooled }: ConnectionRequest, at: number) {
  const { endpoints } = world.store;
  const endpoint = endpoints.byId(endpointId);
  if (!endpoint) throw refusals.notFound("endpoint");
  if (endpoint.disabled) throw refusals.disabled(`endpoint ${endpointId} is disabled: it takes no connections`);
  const limit = pooled ? maxPooledConnections : maxConnections({ min: endpoint.minCu, max: endpoint.maxCu });
  const open = world.backend.connections(endpoint, pooled);
  if (open >= limit) {
    throw refusals.tooManyRequests(`endpoint ${endpointId} already has its ${limit} connections`, 1);
  }
  const connectedAt = wake(world, endpoint, at);
  const closesAt = connectedAt + Math.round(seconds * 1000);
  meter(world, endpoint, at);
  world.backend.connect(endpoint, { pooled, closesAt });
  endpoint.lastActive = at;
  endpoint.suspendDue = undefined;
  endpoints.update(endpoint);
  return {
    endpoint_id: endpointId,
    pooled,
    connections: open + 1,
    max_connections: limit,
    connected_at: timestamp(connectedAt),
    closes_at: timestamp(closesAt),
  };
}

/** Sees to it that a compute comes up, and tells when it will be. */
function wake(world: World, endpoint: StoredEndpoint, at: number): number {
  const { operations } = world.store;
  if (endpoint.currentState === "active" && endpoint.pendingState === undefined) return at;
  if (endpoint.pendingState !== "active") {
    schedule(world, { endpoint, at, pendingState: "active" }, [{ action: "wake_compute", effect: "start" }]);
  }
  const [running, ...waiting] = operations.unfinishedOf(endpoint.projectId, endpoint.id);
  return waiting.reduce((end, { durationMs }) => end + durationMs, running?.due ?? at);
}
