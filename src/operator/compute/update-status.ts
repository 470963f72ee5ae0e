import type { Endpoint } from "../../api/endpoint.ts";
import { guardedPatch } from "../kube/json-patch.ts";
import type { Compute } from "../resources/compute.ts";
import { clippedMessage } from "../resources/conditions-of.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ComputePatcher } from "./execute/context.ts";
import { patched } from "./execute/patched.ts";
import { annotation, generationOf, type Observation, shownReason } from "./observe/plan-input.ts";
import type { EventRecord, Outcome } from "./outcome.ts";
import { desiredSpec } from "./plan/desired-spec.ts";
import { compare } from "./plan/fields.ts";
import { type Reason, reasons, rowOf } from "./status/reasons.ts";
import { nextStatus } from "./status/status.ts";

export interface ReportTools {
  cluster: ComputePatcher;
  clock: Clock;
  event: (compute: Compute, note: EventRecord) => void;
}

/** What a person asked for by annotation, as a reconcile finds it when it begins. */
export interface Requests {
  look: string | undefined;
  confirmLoss: string | undefined;
}

export function requestsOf(compute: Compute): Requests {
  return {
    look: annotation(compute, "reconcileRequestedAt"),
    confirmLoss: annotation(compute, "confirmLoss"),
  };
}

/**
 * The only exit of a reconcile: one status patch where something changed, events on a transition. `asked` is what
 * the annotations asked for when the reconcile began; what they ask for since is still to come.
 */
export async function updateStatus(
  outcome: Outcome,
  observation: Observation,
  binding: string | undefined,
  { cluster, clock, event }: ReportTools,
  asked: Requests,
): Promise<Compute> {
  const { compute, condition } = outcome;
  for (const note of outcome.notes) event(compute, note);
  if (outcome.released) return compute;
  const list = observation.kind === "listed" ? observation.list : undefined;
  const endpoint = endpointAfter(outcome, observation);
  const status = nextStatus(outcome, {
    endpoint,
    absent: list !== undefined && endpoint === undefined,
    answers:
      list !== undefined && outcome.unread !== true && annotation(compute, "reconcileRequestedAt") === asked.look,
    lossOver:
      list !== undefined &&
      (endpoint !== undefined || list.links.missing === undefined) &&
      annotation(compute, "confirmLoss") === asked.confirmLoss,
    compared: compared(outcome, observation, endpoint),
    made: list?.links.link?.proof === "marker" || list?.links.link?.proof === "created",
    operations: list?.operations ?? [],
    through: list?.through,
    binding,
    now: clock.now(),
  });
  if (status === undefined) return compute;
  // What a reconcile only saw must not overwrite what is newer; what it did is true whatever was written since.
  const acted = outcome.applied !== undefined || outcome.restarted !== undefined || outcome.operations.length > 0;
  const patch = guardedPatch(compute, { resourceVersion: !acted }).setStatus(status);
  const after = await patched(cluster, patch, compute, { subresource: "status" });
  if (condition.kind === "shown") {
    const note = transition(shownReason(compute), condition.reason, condition.message);
    const isTold = outcome.notes.some(({ reason }) => reason === note?.reason);
    if (note !== undefined && !isTold) event(after, note);
  }
  return after;
}

/** The endpoint as newest known after a reconcile. */
export function endpointAfter(outcome: Outcome, observation: Observation): Endpoint | undefined {
  if (outcome.ownedByOther === true) return undefined;
  return outcome.endpoint ?? (observation.kind === "listed" ? observation.list.links.link?.endpoint : undefined);
}

/** Whether the service shows what the spec says; `undefined`: that was not seen. */
function compared(outcome: Outcome, observation: Observation, endpoint: Endpoint | undefined): boolean | undefined {
  if (observation.kind !== "listed" || outcome.ownedByOther === true) return undefined;
  const { compute } = outcome;
  if (endpoint === undefined || compute.metadata.deletionTimestamp !== undefined) return false;
  const { differences, notReturned, unreadable } = compare(desiredSpec(compute), endpoint);
  if (differences.length > 0) return false;
  if (unreadable.length > 0) return undefined;
  const isSent = (outcome.applied ?? compute.status.appliedGeneration ?? -1) >= generationOf(compute);
  // Of what the service does not show, only what was sent is known.
  return isSent || notReturned.length === 0 ? true : undefined;
}

/** A change of reason is an event, but for the service's own waking and suspending. */
function transition(before: string | undefined, reason: Reason, message: string): EventRecord | undefined {
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
