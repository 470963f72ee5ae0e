import type { ServiceContext } from "../context.ts";
import { suspendDue } from "./inactivity.ts";

/** Takes up what began by a clock that was ahead of this one: what happened later than now happens now. */
export function setBack(context: ServiceContext, at: number): void {
  const { operations, endpoints, connections } = context.store;
  // Operations of real servers have no end before it is reported.
  if (!context.backend.address) operations.setEnds(at);
  connections.setBack(at);
  for (const endpoint of endpoints.active()) {
    const { lastActive = at, meteredAt = at } = endpoint;
    if (Math.max(lastActive, meteredAt) <= at) continue;
    Object.assign(endpoint, { lastActive: Math.min(lastActive, at), meteredAt: Math.min(meteredAt, at) });
    endpoint.suspendDue = suspendDue(context, endpoint, at);
    endpoints.update(endpoint);
  }
}
