import type { Secret } from "../../connection/resolve.ts";
import type { ClusterClient } from "../../kube/client.ts";
import type { Compute } from "../../resources/compute.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { ServiceAccess } from "../execute/context.ts";
import { isPaused, type Observation, shownReason } from "../observe/plan-input.ts";
import type { Outcome } from "../outcome.ts";
import type { ReconcileState } from "../state.ts";
import { reasons } from "../status/reasons.ts";
import { endpointAfter } from "../update-status.ts";
import { HourlyReading } from "./connection-details.ts";
import { keepConnectionSecret, stands } from "./connection-secret.ts";

export interface BindTools {
  cluster: ClusterClient;
  clock: Clock;
  signal: AbortSignal;
  /** Our connection Secrets of a namespace as the watch has delivered them. */
  ours: (namespace: string) => readonly Secret[];
  /** Whether the spec is not what the Compute's pool asks for: the pool is about to put it back. */
  awaitsPool: (compute: Compute) => boolean;
}

/** The connection Secret of a Compute that has an endpoint; where it cannot be made, the Compute is not ready. */
export async function bind(
  outcome: Outcome,
  observation: Observation,
  access: ServiceAccess | undefined,
  memory: ReconcileState,
  { cluster, clock, signal, ours, awaitsPool }: BindTools,
): Promise<{ outcome: Outcome; binding: string | undefined }> {
  const { compute, condition } = outcome;
  const endpoint = endpointAfter(outcome, observation);
  const before = compute.status.binding?.name;
  const resting = compute.metadata.deletionTimestamp === undefined && !isPaused(compute);
  if (endpoint === undefined || access === undefined || !resting || outcome.released || awaitsPool(compute)) {
    return { outcome, binding: before };
  }
  const { client, reservation, gate } = access;
  const affordable = () => !gate.isWaiting && reservation.tryTake("read");
  const reading = new HourlyReading(compute, memory, clock.monotonic());
  const settled = condition.kind === "shown" && reasons[condition.reason].ready === "True";
  const refused = settled && shownReason(compute) === "Rejected";
  const tools = { cluster, signal, client, affordable, reading, refused, ours };
  const binding = await keepConnectionSecret(compute, endpoint, tools);
  const standing = stands(compute, ours) ? compute.spec.connectionSecret?.name : undefined;
  const unread: Outcome = standing === undefined ? outcome : { ...outcome, unread: true };
  switch (binding.kind) {
    case "none":
      return { outcome, binding: undefined };
    case "bound": {
      const notes = binding.note === undefined ? outcome.notes : [...outcome.notes, binding.note];
      return { outcome: { ...outcome, notes }, binding: binding.name };
    }
    case "later":
      return {
        outcome: settled ? { ...unread, condition: { kind: "unchanged" }, isWoken: true } : unread,
        binding: before,
      };
    case "failed": {
      const { reason, message } = binding;
      return {
        outcome: settled ? { ...unread, condition: { kind: "shown", reason, message }, asDeclared: true } : unread,
        binding: standing,
      };
    }
  }
}
