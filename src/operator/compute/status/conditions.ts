import type { Endpoint } from "../../../api/endpoint.ts";
import type { Compute, Condition } from "../../resources/compute.ts";
import { besideReady, clippedMessage, conditionOf, datedConditions, timestamp } from "../../resources/conditions-of.ts";
import type { Outcome } from "../outcome.ts";
import type { ReconcileState } from "../state.ts";
import { serviceUnavailable } from "./messages/failures.ts";
import { type Reason, reasons, stallsAfterMs } from "./reasons.ts";

/**
 * Ready and Synced share the whole message, Reconciling and Stalled have a short one. `compared`: whether the endpoint
 * is as the spec says, where that was seen. `stalls`: the reason has held for long.
 */
export function conditionsOf(
  { metadata, status }: Compute,
  reason: Reason,
  message: string,
  { now, compared, stalls = false }: { now: number; compared: boolean | undefined; stalls?: boolean },
): Condition[] {
  const row = reasons[reason];
  // A paused Compute was not compared with its present spec: a wait for Ready must not end with it.
  const observedGeneration = row.ready === "kept" ? Math.max(0, status.observedGeneration ?? 0) : metadata.generation;
  const shared = { reason, message: clippedMessage(message), observedGeneration };
  const ready = row.ready === "kept" ? (conditionOf(status, "Ready")?.status ?? "Unknown") : row.ready;
  const synced = row.synced === "compared" ? inCondition(compared) : row.synced;
  const isStalled = row.stalled === "later" ? stalls : row.stalled;
  const drafts = [
    { type: "Ready", status: ready, ...shared },
    { type: "Synced", status: synced, ...shared },
    ...(row.reconciling && !isStalled ? [besideReady("Reconciling", shared)] : []),
    ...(isStalled ? [besideReady("Stalled", shared)] : []),
  ];
  return datedConditions(drafts, status.conditions, timestamp(now));
}

/**
 * Whether a reason has held for so long that it stalls. What the status says outlives this process, which otherwise
 * knows `since` when; `undefined`: it has not held before.
 */
export function holdsForLong(reason: Reason, { status }: Compute, since: number | undefined, now: number): boolean {
  if (conditionOf(status, "Stalled")?.reason === reason) return true;
  return since !== undefined && now - since >= stallsAfterMs;
}

function inCondition(value: boolean | undefined): "True" | "False" | "Unknown" {
  if (value === undefined) return "Unknown";
  return value ? "True" : "False";
}

/** How many fields are named, and how much of each name: they are the service's own. */
const mostNamed = 5;
const longestName = 60;

/** Reports what the service shows of an endpoint in a form that cannot be read: in the conditions, and in one event. */
export function withUnreadable(outcome: Outcome, endpoint: Endpoint | undefined, state: ReconcileState): Outcome {
  const { compute, condition, events } = outcome;
  const unreadable = endpoint?.unreadable ?? [];
  if (condition.kind !== "shown" || reasons[condition.reason].ready !== "True") return outcome;
  const sentence = unreadable.length === 0 ? undefined : serviceUnavailable.leftOut(inWords(unreadable));
  const earlier = state.known.told.unreadable;
  state.reportedUnreadable(sentence);
  if (sentence === undefined) return outcome;
  const isReported = earlier === sentence || conditionOf(compute.status, "Ready")?.message?.includes(sentence) === true;
  const event = { type: "Warning", reason: "ServiceUnavailable", message: sentence } as const;
  return {
    ...outcome,
    condition: { ...condition, message: `${condition.message} ${sentence}` },
    events: isReported ? events : [...events, event],
  };
}

function inWords(fields: readonly string[]): string {
  const named = fields.slice(0, mostNamed).map((name) => name.slice(0, longestName));
  return [...named, ...(fields.length > mostNamed ? ["more"] : [])].join(", ");
}
