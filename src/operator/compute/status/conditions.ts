import type { Compute, Condition } from "../../resources/compute.ts";
import { besideReady, clippedMessage, conditionOf, datedConditions, timestamp } from "../../resources/conditions-of.ts";
import { type Reason, reasons } from "./reasons.ts";

/**
 * Ready and Synced share the whole message, Reconciling and Stalled have a short one. `compared`: whether the endpoint
 * is as the spec says, where that was seen.
 */
export function conditionsOf(
  { metadata, status }: Compute,
  reason: Reason,
  message: string,
  { now, compared }: { now: number; compared: boolean | undefined },
): Condition[] {
  const row = reasons[reason];
  // What is paused was not looked at for the spec that it has now: a wait for Ready must not take it for that.
  const observedGeneration = row.ready === "kept" ? Math.max(0, status.observedGeneration ?? 0) : metadata.generation;
  const shared = { reason, message: clippedMessage(message), observedGeneration };
  const ready = row.ready === "kept" ? (conditionOf(status, "Ready")?.status ?? "Unknown") : row.ready;
  const synced = row.synced === "compared" ? inCondition(compared) : row.synced;
  const drafts = [
    { type: "Ready", status: ready, ...shared },
    { type: "Synced", status: synced, ...shared },
    ...(row.reconciling ? [besideReady("Reconciling", shared)] : []),
    ...(row.stalled ? [besideReady("Stalled", shared)] : []),
  ];
  return datedConditions(drafts, status.conditions, timestamp(now));
}

function inCondition(value: boolean | undefined): "True" | "False" | "Unknown" {
  if (value === undefined) return "Unknown";
  return value ? "True" : "False";
}
