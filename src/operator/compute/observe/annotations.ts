import { recordedID } from "../../claims/ownership.ts";
import { conditionOf } from "../../objects/conditions-of.ts";
import type { Compute } from "../../resources/compute.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { annotations } from "../../resources/names.ts";
import { pausedForMs, pausedUntil } from "../../resources/pause.ts";

/** Annotations of a Compute, by the operator and by people, and the part of them that the status has handled. */
export type Annotations = ReturnType<typeof annotationsOf>;

/** Parses the annotations of a Compute: a reconcile does so once, and again for what its own patches have changed. */
export function annotationsOf(compute: Compute, wallNow: number) {
  const { status } = compute;
  const restartedAt = annotation(compute, "restartedAt");
  const reconcileRequestedAt = annotation(compute, "reconcileRequestedAt");
  const confirmLoss = annotation(compute, "confirmLoss");
  const lossConsent = confirmLoss === status.lastHandledConfirmLoss ? undefined : confirmLoss;
  const showsLoss = conditionOf(status, "Ready")?.reason === "MassLoss" || status.lossDoubted === true;
  return {
    /** As written, valid or not. */
    endpointID: annotation(compute, "endpointID"),
    recordedID: recordedID(compute),
    /** For how long nothing is sent, in milliseconds; without end unless the annotation is a time. */
    pausedForMs: pausedForMs(compute, wallNow),
    /** The time that the annotation `paused` holds, as written; `undefined` if it holds none. */
    pausedUntil: pausedUntil(compute),
    restartedAt,
    /** As written: the connection Secret records which value was carried out. */
    passwordRotationAt: annotation(compute, "passwordRotationAt"),
    /** True if a person requested a restart that is still to be carried out. */
    restartRequested: restartedAt !== undefined && restartedAt !== status.restartedAt && !isObserved(compute),
    reconcileRequestedAt,
    /** True if a person requested a reconcile that has not been handled. */
    reconcileRequested: reconcileRequestedAt !== undefined && reconcileRequestedAt !== status.lastHandledReconcileAt,
    confirmLoss,
    /** The value of `confirmLoss`, until the status says that it was handled. */
    lossConsent,
    /**
     * True if a person has confirmed the loss that the status shows. A value that was there before the loss was shown,
     * or that confirmed an earlier one, confirms nothing.
     */
    lossConfirmed: showsLoss && lossConsent !== undefined,
  };
}

/** One annotation of the operator's, by its short name. */
export function annotation({ metadata }: Compute, name: keyof typeof annotations): string | undefined {
  return metadata.annotations?.[annotations[name]];
}
