import { recordedID } from "../../claims/ownership.ts";
import { conditionOf } from "../../objects/conditions-of.ts";
import { annotation } from "../../resources/annotation.ts";
import type { Compute } from "../../resources/compute.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { pausedForMs, pausedUntil } from "../../resources/pause.ts";
import { digest } from "../../resources/signature.ts";

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
    /** The connection Secret records which value was carried out. */
    passwordRotationAt: rotationRequest(compute),
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

/** The longest value of `passwordRotationAt` that a Secret records as written, in characters. */
const longestRequest = 256;

/** The value of `passwordRotationAt`; of a longer one a digest, which a Secret has room for. */
export function rotationRequest(compute: Pick<Compute, "metadata">): string | undefined {
  const value = annotation(compute, "passwordRotationAt");
  return value === undefined || value.length <= longestRequest ? value : digest(value, 32);
}
