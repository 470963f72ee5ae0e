import type { ServiceContext } from "../context.ts";
import { suspendDue } from "./inactivity.ts";

/** Takes up what began by a clock that was ahead: what happened later happens now. Answers the errors of parts. */
export function setBack(context: ServiceContext, at: number): unknown[] {
  const { operations, endpoints, connections } = context.store;
  // Operations of real servers have no end before it is reported.
  if (!context.backend.address) operations.setEnds(at);
  connections.setBack(at);
  return context.store.parts(endpoints.active(), (endpoint) => {
    const { lastActive = at, meteredAt = at } = endpoint;
    if (Math.max(lastActive, meteredAt) <= at) return;
    Object.assign(endpoint, { lastActive: Math.min(lastActive, at), meteredAt: Math.min(meteredAt, at) });
    endpoint.suspendDue = suspendDue(context, endpoint, at);
    endpoints.update(endpoint);
  });
}
