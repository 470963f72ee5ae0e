import type { EventInput } from "../kube/event-record.ts";
import type { ComputePool, ComputePoolStatus } from "../resources/compute-pool.ts";
import { conditionOf } from "../resources/conditions-of.ts";
import { scaling } from "./messages.ts";
import type { PoolPlan } from "./plan.ts";

/**
 * The event for a change of a pool's status. A replica that is not ready is reported by its Compute, not by the pool.
 */
export function poolEvent(
  { spec, status: before, metadata }: ComputePool,
  after: ComputePoolStatus,
  { create, remove, update }: PoolPlan,
): EventInput | undefined {
  const ready = conditionOf(after, "Ready");
  if (ready === undefined) return undefined;
  const { reason, message } = ready;
  const isNew = conditionOf(before, "Ready")?.reason !== reason;
  if (reason !== "Scaling") {
    const type = reason === "Ready" ? "Normal" : "Warning";
    return isNew ? { type, reason, message } : undefined;
  }
  if (!isNew && before.observedGeneration === metadata.generation) return undefined;
  if (create.length + remove.length > 0) {
    return { type: "Normal", reason, message: scaling.to(spec.replicas) };
  }
  return update.length > 0 ? { type: "Normal", reason, message: scaling.template } : undefined;
}
