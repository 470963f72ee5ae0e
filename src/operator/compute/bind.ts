import type { ClusterClient } from "../cluster/client.ts";
import type { Secret } from "../connection/resolve.ts";
import type { Compute } from "../resources/compute.ts";
import type { Clock } from "../runtime/clock.ts";
import { HourlyReading } from "./connection-details.ts";
import { keepConnectionSecret, stands } from "./connection-secret.ts";
import type { Errand } from "./errand.ts";
import type { Memory } from "./memory.ts";
import { isPaused, type Sight, shownReason } from "./observe/view.ts";
import type { Outcome } from "./outcome.ts";
import { reasons } from "./reasons.ts";
import { endpointAfter } from "./report.ts";

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
  sight: Sight,
  errand: Errand | undefined,
  memory: Memory,
  { cluster, clock, signal, ours, awaitsPool }: BindTools,
): Promise<{ outcome: Outcome; binding: string | undefined }> {
  const { compute, verdict } = outcome;
  const endpoint = endpointAfter(outcome, sight);
  const before = compute.status.binding?.name;
  const resting = compute.metadata.deletionTimestamp === undefined && !isPaused(compute);
  if (endpoint === undefined || errand === undefined || !resting || outcome.released || awaitsPool(compute)) {
    return { outcome, binding: before };
  }
  const { client, reservation, gate } = errand;
  const affordable = () => !gate.isWaiting && reservation.tryTake("read");
  const reading = new HourlyReading(compute, memory, clock.monotonic());
  const settled = verdict.kind === "shown" && reasons[verdict.reason].ready === "True";
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
        outcome: settled ? { ...unread, verdict: { kind: "unchanged" }, isWoken: true } : unread,
        binding: before,
      };
    case "failed": {
      const { reason, message } = binding;
      return {
        outcome: settled ? { ...unread, verdict: { kind: "shown", reason, message }, asDeclared: true } : unread,
        binding: standing,
      };
    }
  }
}
