import { shownReason } from "../objects/conditions-of.ts";
import { generationOf } from "../objects/object.ts";
import { sameJSON } from "../objects/record.ts";
import type { Compute, ComputeStatus } from "../resources/compute.ts";
import { soonMs } from "../runtime/waits.ts";
import type { HeldStatus, ReadonlyState } from "./memory.ts";
import type { Effect, Outcome } from "./outcome.ts";
import { isAtRest, isProgress } from "./words/reasons.ts";

// A status that only reports progress is held in memory for two seconds: the next one replaces it, which saves a patch.
// Where operations end within a second, an edit costs one patch instead of two, a restart three instead of five, and a
// create four instead of five. Where they take ten seconds, nothing is saved.

/**
 * The wait of a held status, in milliseconds, where the status shown has the record of a create: the next status that
 * is written is the final one, which saves a fifth patch of a create whose operations end within a minute. Longer ones
 * are not worth hiding the endpoint for.
 */
const recordedForMs = 60_000;

/** Members that later processes rely on, or a person waits for: never held back. */
const neverHeld = [
  "restartedAt",
  "lastHandledReconcileAt",
  "lastHandledConfirmLoss",
  "disabledByUs",
  "lossDoubted",
  "drift",
  "resolvedBranch",
  "appliedEntry",
  "waiting",
  "clusterConnection",
] as const satisfies readonly (keyof ComputeStatus)[];

/**
 * True if the status only reports progress, and replaces rest, progress or no status. `isHidden`: lists do not show all
 * that was sent.
 */
export function mayWait({ compute, condition }: Outcome, after: ComputeStatus, isHidden: boolean): boolean {
  const { spec, status: before } = compute;
  if (condition.kind === "shown" && !isProgress(condition.reason)) return false;
  const reason = shownReason(compute);
  if (reason !== undefined && !isProgress(reason) && !isAtRest(reason)) return false;
  if (before.endpointID !== undefined && before.endpointID !== after.endpointID) return false;
  // A later process sees in lists what was sent; it needs the generation for what they do not show, and for Report.
  const isNeeded = spec.driftPolicy === "Report" || isHidden;
  if (isNeeded && before.appliedGeneration !== after.appliedGeneration) return false;
  return neverHeld.every((field) => sameJSON(before[field], after[field]));
}

/**
 * Time at which a held status is written: not before the expected result of the write, unless the status shown reports
 * progress of an earlier write, which it replaces sooner.
 */
export function heldUntil(
  { held, requeue: { resultAt = Number.NEGATIVE_INFINITY } }: ReadonlyState,
  { compute, isNew }: { compute: Compute; isNew: boolean },
  now: number,
): number {
  const reason = shownReason(compute);
  // With its record a status says already that a create is on the way.
  const isRecorded = reason === "Creating" && compute.status.pendingWrite !== undefined;
  const waitMs = isRecorded && isNew ? recordedForMs : soonMs;
  const dueAt = isNew || held === undefined ? now + waitMs : held.dueAt;
  return isProgress(reason) && !isRecorded ? dueAt : Math.max(resultAt, dueAt);
}

/** An outcome joined with an earlier one that is not written yet. `isSeen`: the endpoint is seen again. */
export function withHeld(outcome: Outcome, held: HeldStatus | undefined, isSeen: boolean): Outcome {
  if (held === undefined) return outcome;
  const { condition, effect } = outcome;
  return {
    ...outcome,
    condition: condition.kind === "unchanged" && isAbout(outcome.compute, held) ? held.condition : condition,
    effect: effect.kind === "none" ? effectStillToShow(held.effect, isSeen) : withOperations(effect, held.effect),
  };
}

function isAbout(compute: Compute, { generation }: HeldStatus): boolean {
  return generation === generationOf(compute);
}

/** Keeps the operations of the answer, for a service that lists none. */
function withOperations(effect: Effect, held: Effect): Effect {
  const isEnd = effect.kind === "settled" && held.kind === "accepted";
  return isEnd ? { ...effect, operations: held.operations } : effect;
}

function effectStillToShow(effect: Effect, isSeen: boolean): Effect {
  if (effect.kind !== "accepted") return { kind: "none" };
  return isSeen ? { ...effect, endpoint: undefined } : effect;
}
