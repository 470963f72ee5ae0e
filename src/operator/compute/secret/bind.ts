import type { ListerAccess } from "../../connection/access.ts";
import type { Secret } from "../../connection/resolve.ts";
import type { ClusterClient } from "../../kube/client.ts";
import type { Compute } from "../../resources/compute.ts";
import type { Clock } from "../../runtime/clock.ts";
import { annotationsOf } from "../observe/annotations.ts";
import { isBeingDeleted, type Observed, shownReason } from "../observe/observation.ts";
import type { Outcome } from "../outcome.ts";
import type { ReconcileState } from "../state.ts";
import { endpointAfter } from "../update-status.ts";
import { hourlyReading } from "./connection-details.ts";
import { keepConnectionSecret, stands } from "./connection-secret.ts";

export interface BindTools {
  cluster: ClusterClient;
  clock: Clock;
  signal: AbortSignal;
  /** Our connection Secrets of a namespace as the watch has delivered them; `undefined`: no right to read them. */
  ours: (namespace: string) => readonly Secret[] | undefined;
  /** True if the spec is not what the Compute's pool asks for: the pool is about to put it back. */
  awaitsPool: (compute: Compute) => boolean;
}

/**
 * The connection Secret of a Compute that has an endpoint; if it cannot be written, the Compute is not ready.
 * `unchecked`: a Secret stands that could not be checked now, so a requested reconcile is not handled yet.
 */
export async function bind(
  outcome: Outcome,
  o: Observed,
  access: ListerAccess | undefined,
  state: ReconcileState,
  { cluster, clock, signal, ours, awaitsPool }: BindTools,
): Promise<{ outcome: Outcome; binding: string | undefined; unchecked: boolean }> {
  const { compute, condition } = outcome;
  const endpoint = endpointAfter(outcome, o);
  const before = compute.status.binding?.name;
  const { pausedForMs, reconcileRequested } = annotationsOf(compute, clock.now());
  const isPaused = pausedForMs !== undefined;
  const isKept = isBeingDeleted(compute) || isPaused || condition.kind === "released" || awaitsPool(compute);
  if (endpoint === undefined || access === undefined || isKept) return { outcome, binding: before, unchecked: false };
  const { client, reservation, gate } = access;
  const affordable = () => !gate.isWaiting && reservation.tryTake("read");
  const reading = hourlyReading(compute, state, clock.monotonic());
  const settled = outcome.effect.kind === "settled";
  const refused = settled && shownReason(compute) === "Rejected";
  const tools = { cluster, signal, client, affordable, reading, refused, requested: reconcileRequested, ours };
  const binding = await keepConnectionSecret(compute, endpoint, tools);
  const standing = stands(compute, ours) ? compute.spec.connectionSecret?.name : undefined;
  const unchecked = standing !== undefined;
  switch (binding.kind) {
    case "none":
      return { outcome, binding: undefined, unchecked: false };
    case "bound": {
      const events = binding.event === undefined ? outcome.events : [...outcome.events, binding.event];
      return { outcome: { ...outcome, events }, binding: binding.name, unchecked: false };
    }
    case "later": {
      const waiting = { condition: { kind: "unchanged" }, requeue: { kind: "enqueued" } } as const;
      return { outcome: settled ? { ...outcome, ...waiting } : outcome, binding: before, unchecked };
    }
    case "failed": {
      const { reason, message } = binding;
      const failed = { ...outcome, condition: { kind: "shown", reason, message } } as const;
      return { outcome: settled ? failed : outcome, binding: standing, unchecked };
    }
  }
}
