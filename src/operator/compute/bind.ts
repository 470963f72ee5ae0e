import type { Endpoint } from "../../api/endpoint.ts";
import type { ConnectionSecrets } from "../connection-secret/connection-secret.ts";
import { ClusterError } from "../kube/errors.ts";
import { shownReason } from "../objects/conditions-of.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { ListerAccess } from "../project/access.ts";
import type { Compute } from "../resources/compute.ts";
import type { Annotations } from "./observe/annotations.ts";
import type { Outcome } from "./outcome.ts";
import { leftSecret } from "./words/events.ts";
import { meaningOf } from "./words/failures.ts";

export interface BindTools {
  secrets: Pick<ConnectionSecrets, "keep" | "stands" | "ownerless">;
  /** True if the spec is not what the Compute's pool or Branch declares: the owner is about to put it back. */
  awaitsOwner: (compute: Compute) => boolean;
}

/** Result of a reconcile with that of its connection Secret. */
export interface Bound {
  outcome: Outcome;
  /** Name of the connection Secret. */
  binding: string | undefined;
  /** A Secret stands that could not be checked now, so a requested reconcile is not handled yet. */
  unchecked: boolean;
  /** The API server could not be asked, or has another version of the Secret: the reconcile is to be retried. */
  failed?: { error: unknown };
}

/** The connection Secret of a Compute that has an endpoint; if it cannot be written, the Compute is not ready. */
export async function bind(
  outcome: Outcome,
  endpoint: Endpoint | undefined,
  { pausedForMs, reconcileRequested }: Pick<Annotations, "pausedForMs" | "reconcileRequested">,
  access: ListerAccess | undefined,
  { secrets, awaitsOwner }: BindTools,
): Promise<Bound> {
  const { compute, condition } = outcome;
  const before = compute.status.binding?.name;
  if (condition.kind === "released") {
    const left = secrets.ownerless(compute).map(leftSecret);
    return { outcome: { ...outcome, events: [...outcome.events, ...left] }, binding: before, unchecked: false };
  }
  const isPaused = pausedForMs !== undefined;
  const isKept = isBeingDeleted(compute) || isPaused || awaitsOwner(compute);
  if (endpoint === undefined || access === undefined || isKept) return { outcome, binding: before, unchecked: false };
  const { client, reservation, gate } = access;
  const affordable = () => !gate.isWaiting && reservation.tryTake("read");
  const settled = outcome.effect.kind === "settled";
  const refused = settled && shownReason(compute) === "Rejected";
  const binding = await secrets.keep(compute, endpoint, { client, affordable, refused, requested: reconcileRequested });
  const standing = secrets.stands(compute) ? compute.spec.connectionSecret?.name : undefined;
  const unchecked = standing !== undefined;
  switch (binding.kind) {
    case "none":
      return { outcome, binding: undefined, unchecked: false };
    case "bound": {
      const events = binding.event === undefined ? outcome.events : [...outcome.events, binding.event];
      return { outcome: { ...outcome, events }, binding: binding.name, unchecked: false };
    }
    case "later":
      return { outcome: putOff(outcome), binding: before, unchecked };
    case "unread":
    case "failed": {
      const meaning = binding.kind === "failed" ? binding : meaningOf(binding.failure, binding.doing);
      const failed = {
        ...outcome,
        condition: { kind: "shown", reason: meaning.reason, message: meaning.message },
      } as const;
      return { outcome: settled ? failed : outcome, binding: standing, unchecked };
    }
  }
}

/** A reconcile whose Secret could not be kept: its own write counts all the same. */
export function unbound(outcome: Outcome, error: unknown): Bound {
  // Without an answer nothing is known of this term either: the reconcile ends.
  if (!(error instanceof ClusterError)) throw error;
  const binding = outcome.compute.status.binding?.name;
  return { outcome: putOff(outcome), binding, unchecked: true, failed: { error } };
}

/** A Compute at rest is not shown as ready before its Secret is. */
function putOff(outcome: Outcome): Outcome {
  if (outcome.effect.kind !== "settled") return outcome;
  return { ...outcome, condition: { kind: "unchanged" }, requeue: { kind: "enqueued" } };
}
