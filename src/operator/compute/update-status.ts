import type { Endpoint } from "../../api/endpoint.ts";
import type { EventInput } from "../kube/event-record.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import type { Compute } from "../resources/compute.ts";
import { clippedMessage } from "../resources/conditions-of.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ComputePatcher } from "./execute/context.ts";
import { patched } from "./execute/patch-metadata.ts";
import { annotationsOf } from "./observe/annotations.ts";
import { generationOf, isBeingDeleted, type Observed, shownReason } from "./observe/observation.ts";
import type { Outcome } from "./outcome.ts";
import { compare, desiredSpec } from "./plan/fields.ts";
import { type Reason, reasons, rowOf } from "./status/reasons.ts";
import { nextStatus } from "./status/status.ts";

export interface StatusTools {
  cluster: ComputePatcher;
  clock: Clock;
  event: (compute: Compute, record: EventInput) => void;
}

/**
 * The only exit of a reconcile: one status patch if something changed, events on a transition. `secret`: the connection
 * Secret's name, and whether it could be checked. What the annotations ask for since the reconcile began is left to the
 * next one.
 */
export async function updateStatus(
  outcome: Outcome,
  o: Observed,
  secret: { binding: string | undefined; unchecked: boolean },
  { cluster, clock, event }: StatusTools,
): Promise<Compute> {
  const { compute, condition, effect, events } = outcome;
  for (const each of events) event(compute, each);
  if (condition.kind === "released") return compute;
  const annotations = annotationsOf(compute);
  const { reconcileRequestedAt, confirmLoss } = annotations;
  const list = o.kind === "observed" ? o : undefined;
  const endpoint = endpointAfter(outcome, o);
  const status = nextStatus(outcome, {
    annotations,
    endpoint,
    absent: list !== undefined && endpoint === undefined,
    answers: list !== undefined && !secret.unchecked && reconcileRequestedAt === o.annotations.reconcileRequestedAt,
    lossOver:
      list !== undefined &&
      (endpoint !== undefined || list.links.missing === undefined) &&
      confirmLoss === o.annotations.confirmLoss,
    compared: compared(outcome, o, endpoint),
    made: list?.links.link?.proof === "marker" || list?.links.link?.proof === "created",
    operations: list?.operations ?? [],
    fingerprint: list?.fingerprint,
    binding: secret.binding,
    now: clock.now(),
  });
  if (status === undefined) return compute;
  // A status that was only observed must not overwrite a newer one; what was done at the service holds in any case.
  const isDone = effect.kind === "accepted" || effect.kind === "restarted";
  const patch = guardedPatch(compute, { resourceVersion: !isDone }).setStatus(status);
  const patchedCompute = await patched(cluster, patch, compute, { subresource: "status" });
  if (condition.kind === "shown") {
    const change = transition(shownReason(compute), condition.reason, condition.message);
    const isReported = events.some(({ reason }) => reason === change?.reason);
    if (change !== undefined && !isReported) event(patchedCompute, change);
  }
  return patchedCompute;
}

/** The endpoint as newest known after a reconcile. */
export function endpointAfter({ effect }: Outcome, o: Observed): Endpoint | undefined {
  if (effect.kind === "ownedByOther") return undefined;
  const answered = effect.kind === "accepted" ? effect.endpoint : undefined;
  return answered ?? (o.kind === "observed" ? o.links.link?.endpoint : undefined);
}

/** Whether the service shows what the spec says; `undefined`: that was not seen. */
function compared({ compute, effect }: Outcome, o: Observed, endpoint: Endpoint | undefined): boolean | undefined {
  if (o.kind !== "observed" || effect.kind === "ownedByOther") return undefined;
  if (endpoint === undefined || isBeingDeleted(compute)) return false;
  const { differences, notReturned, unreadable } = compare(desiredSpec(compute), endpoint);
  if (differences.length > 0) return false;
  if (unreadable.length > 0) return undefined;
  const sent = effect.kind === "accepted" ? effect.generation : (compute.status.appliedGeneration ?? -1);
  // Of a field that the service does not return, only what was sent is known.
  return sent >= generationOf(compute) || notReturned.length === 0 ? true : undefined;
}

/** A change of reason is an event, but for the service's own waking and suspending. */
function transition(before: string | undefined, reason: Reason, message: string): EventInput | undefined {
  if (before === reason || (isAtRest(before) && isAtRest(reason))) return undefined;
  const { stalled, look, synced, ready } = reasons[reason];
  const drifted = ready === "True" && synced === "False";
  const waits = look === "backoff" || look === "patient" || look === "slow";
  const trouble = stalled || waits || drifted || reason === "EndpointLost";
  return { type: trouble ? "Warning" : "Normal", reason, message: clippedMessage(message) };
}

/** Ready and in step with the spec: whichever of these it is, is the service's own to decide. */
function isAtRest(reason: string | undefined): boolean {
  const row = rowOf(reason);
  return row?.ready === "True" && row.synced === "True";
}
