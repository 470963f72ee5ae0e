import {
  besideReady,
  type Condition,
  clippedMessage,
  conditionOf,
  datedConditions,
  hasEnded,
  timestamp,
} from "../objects/conditions-of.ts";
import { generationOf, type KubeObject } from "../objects/object.ts";
import type { ConditionRow } from "./rows.ts";

/** An object with conditions, as far as they are written here. */
type Conditioned = Pick<KubeObject, "metadata"> & {
  status: { conditions?: readonly Condition[] | undefined; observedGeneration?: number | undefined };
};

/**
 * The conditions of any kind: Ready, or Expired in its place, and Synced share the whole message, Reconciling and
 * Stalled have a short one.
 * `compared`: whether the object is as the spec says, where that was seen. `stalls`: the reason has held for long.
 */
export function conditionsFor(
  { metadata, status }: Conditioned,
  row: ConditionRow,
  { reason, message }: { reason: string; message: string },
  { now, compared, stalls = false }: { now: number; compared: boolean | undefined; stalls?: boolean },
): Condition[] {
  // A paused object was not compared with its present spec: a wait for Ready must not end with it.
  const observedGeneration =
    row.ready === "kept" ? Math.max(0, status.observedGeneration ?? 0) : generationOf({ metadata });
  const shared = { reason, message: clippedMessage(message), observedGeneration };
  const isEnded = row.ready === "ended" || (row.ready === "kept" && hasEnded({ status }));
  const ready = row.ready === "kept" ? (conditionOf(status, "Ready")?.status ?? "Unknown") : row.ready;
  const synced = row.synced === "compared" ? inCondition(compared) : row.synced;
  const isStalled = row.stalled === "later" ? stalls : row.stalled;
  const drafts = [
    isEnded ? { type: "Expired", status: "True", ...shared } : { type: "Ready", status: ready, ...shared },
    ...(synced === "none" ? [] : [{ type: "Synced", status: synced, ...shared }]),
    ...(row.reconciling && !isStalled ? [besideReady("Reconciling", shared)] : []),
    ...(isStalled ? [besideReady("Stalled", shared)] : []),
  ];
  return datedConditions(drafts, status.conditions, timestamp(now));
}

function inCondition(value: boolean | undefined): "True" | "False" | "Unknown" {
  if (value === undefined) return "Unknown";
  return value ? "True" : "False";
}
