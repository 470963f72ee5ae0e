import type { EventInput } from "../kube/event-record.ts";
import { transition } from "../life/report.ts";
import { shownCondition, shownReason } from "../objects/conditions-of.ts";
import type { ComputePool, ComputePoolStatus } from "../resources/compute-pool.ts";
import { labels } from "../resources/names.ts";
import { poolReasons } from "./reasons.ts";

// Messages of the conditions and events of a ComputePool, and of the event of a member that the pool puts back.

/**
 * `fields`: those of the spec that the API server stores otherwise than they are sent. `held`: the number of replicas
 * whose changes wait for a window.
 */
export const ready = (fields: readonly string[], held = 0): string => {
  if (held > 0)
    return `All replicas are ready. Changes of ${held} of them wait for a window (their status.nextWindow).`;
  return fields.length === 0
    ? "All replicas are ready."
    : `All replicas are ready. An admission policy changed ${fields.join(", ")} of their spec, which the pool keeps.`;
};

export const ended =
  "Expired: the Branch that spec.template.branchRef names came to its end, and so did the endpoints of all replicas. Delete this pool, or do what the condition of the Branch says to have fresh ones.";

export const scaling = {
  changing: (pool: string) => `Replicas are being created, changed or removed. ${listCommand(pool)}`,
  notReady: (pool: string) => `Replicas are not ready yet. ${listCommand(pool)}`,
  inTurn: (pool: string) => `Replicas change one after another. ${listCommand(pool)}`,
  /** Events. */
  to: (replicas: number) => `Creating or removing replicas, to have ${replicas}.`,
  template: "Applying the changed template to the replicas.",
};

/** `said`: by the first of the members that are not ready, which show the same reason. */
export const notReady = (count: number, replicas: number, said: string): string =>
  `${count} of ${replicas} replicas are not ready: ${said}`;

export const conflict = (compute: string): string =>
  `Compute ${compute} exists and does not belong to this pool. Delete that Compute, or create the pool under another name.`;

/** Event of a Compute. */
export const adopted = (pool: string): string =>
  `Taken back by ComputePool ${pool}, as after a restored backup: a former pool of that name had it. The endpoint stays.`;

export const rejected = (said: string): string =>
  `The Kubernetes API server refused to create, change or delete a replica: ${said}. Change the spec, or the policy that refuses it; retried automatically.`;

/** Event of a Compute. */
export const driftCorrected = (pool: string): string =>
  `The spec differed from the template of ComputePool ${pool} and was restored. Change the template instead.`;

function listCommand(pool: string): string {
  return `See each with: kubectl get computes -l ${labels.pool}=${pool}`;
}

/** The event for a change of a pool's status. */
export function poolEvent(
  { spec, status: before, metadata }: ComputePool,
  after: ComputePoolStatus,
  { create, remove, update }: Record<"create" | "remove" | "update", readonly unknown[]>,
): EventInput | undefined {
  const condition = shownCondition({ status: after });
  if (condition === undefined) return undefined;
  const { reason, message } = condition;
  const shown = shownReason({ status: before });
  if (reason !== "Scaling") {
    return transition(shown, { kind: "shown", reason, message }, poolReasons, { isAnnounced: false });
  }
  if (shown === reason && before.observedGeneration === metadata.generation) return undefined;
  if (create.length + remove.length > 0) {
    return { type: "Normal", reason, message: scaling.to(spec.replicas) };
  }
  return update.length > 0 ? { type: "Normal", reason, message: scaling.template } : undefined;
}
