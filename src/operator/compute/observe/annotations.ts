import { z } from "zod";
import { couldBeEndpointId } from "../../../api/ids.ts";
import { branchIDOf, type Compute } from "../../resources/compute.ts";
import { conditionOf } from "../../resources/conditions-of.ts";
import { annotations } from "../../resources/names.ts";
import { tolerant } from "../../resources/object.ts";

/**
 * Written before an endpoint is created and removed when the outcome is known: a process that finds it knows that a
 * POST may have been sent.
 */
const pendingCreate = tolerant(
  z.object({
    /** Of the Compute; a mark with another uid was copied and does not count. */
    uid: z.string(),
    /** RFC 3339. */
    since: z.string().default(""),
    branchID: z.string().default(""),
    /**
     * The fingerprint of the base URL and key that it was sent with. Anybody can write a mark and copy a fingerprint:
     * as a claim on a branch, a mark counts only if the Compute's own session has this fingerprint and has shown the
     * project. As a pending create it always counts.
     */
    through: z.string().default(""),
    /** The endpoint that it replaces, which was proved gone before. */
    replaces: z.string().optional(),
    /** The service was known to show names when it was sent: an endpoint without a name is then not of this create. */
    named: z.literal(true).optional(),
    /** Another POST followed while the outcome of the first was not known: either may still take effect. */
    resent: z.literal(true).optional(),
    /** How many POSTs it has stood for, if several: each has a mark of its own, so no late patch of another fits. */
    posts: z.number().optional(),
  }),
);
export type PendingCreate = z.output<typeof pendingCreate>;

/** Written before a restart is sent. */
const pendingRestart = tolerant(
  z.object({
    uid: z.string(),
    since: z.string().default(""),
    /** The value of the annotation `restartedAt` that asked for it. */
    value: z.string().default(""),
    /** When the newest earlier operation of the endpoint was created; empty: it had none; absent: not known. */
    newestOperation: z.string().optional(),
    /** When the last of them had ended; empty: it had none; absent: one was in progress, or it is not known. */
    restedSince: z.string().optional(),
    /** The endpoint's `started_at` in the last list before. */
    startedAt: z.string().optional(),
  }),
);
export type PendingRestart = z.output<typeof pendingRestart>;

/** Written before our signature is sent for the endpoint of a former Compute: it may be ours from then on. */
const pendingTakeover = tolerant(
  z.object({
    uid: z.string(),
    endpointID: z.string(),
    /** The fingerprint of the base URL and key that the signature was sent with. */
    through: z.string(),
  }),
);
export type PendingTakeover = z.output<typeof pendingTakeover>;

/** What the operator and people have written into a Compute's annotations, and what of it the status has handled. */
export type Annotations = ReturnType<typeof annotationsOf>;

/** Parses the annotations of a Compute: a reconcile does so once, and again for what its own patches have changed. */
export function annotationsOf(compute: Compute) {
  const { status } = compute;
  const reconcileRequestedAt = annotation(compute, "reconcileRequestedAt");
  const confirmLoss = annotation(compute, "confirmLoss");
  const lossConsent = confirmLoss === status.lastHandledConfirmLoss ? undefined : confirmLoss;
  const showsLoss = conditionOf(status, "Ready")?.reason === "MassLoss" || status.lossDoubted === true;
  return {
    /** As written, valid or not. */
    endpointID: annotation(compute, "endpointID"),
    recordedID: recordedID(compute),
    pendingCreate: pendingCreateOf(compute),
    pendingRestart: pendingRestartOf(compute),
    pendingTakeover: pendingTakeoverOf(compute),
    paused: isPaused(compute),
    restartedAt: annotation(compute, "restartedAt"),
    reconcileRequestedAt,
    /** Whether a person requested a reconcile that has not been handled. */
    reconcileRequested: reconcileRequestedAt !== undefined && reconcileRequestedAt !== status.lastHandledReconcileAt,
    confirmLoss,
    /** The value of `confirmLoss`, until the status says that it was handled. */
    lossConsent,
    /**
     * Whether a person has confirmed the loss that the status shows. A value that was there before the loss was shown,
     * or that confirmed an earlier one, confirms nothing.
     */
    lossConfirmed: showsLoss && lossConsent !== undefined,
  };
}

/**
 * The endpoint that a Compute is recorded to be linked to, in its annotation or, if that was dropped, its status.
 * Anybody can write an annotation: a text that can be no id is used nowhere.
 */
export function recordedID(compute: Compute): string | undefined {
  const id = annotation(compute, "endpointID") ?? compute.status.endpointID;
  return id !== undefined && couldBeEndpointId(id) ? id : undefined;
}

/** Any value but "false" pauses: a person who mistypes "true" means it. */
export function isPaused(compute: Compute): boolean {
  const paused = annotation(compute, "paused");
  return paused !== undefined && paused !== "false";
}

export function pendingCreateOf(compute: Compute): PendingCreate | undefined {
  return markIn(compute, "pendingCreate", pendingCreate);
}

/** In a mark: it is not known where the create was sent. No branch has this id. */
export const unknownBranch = "?";

/** The branch of a pending create; a mark that names none was made for the branch of the spec. */
export function branchOf({ branchID }: PendingCreate, compute: Compute): string {
  return branchID === "" ? branchIDOf(compute) : branchID;
}

/** Whether an endpoint other than the replaced one is recorded: that one settled the create. */
export function isRecordedSince(mark: PendingCreate, recorded: string | undefined): boolean {
  return recorded !== undefined && recorded !== mark.replaces;
}

export function pendingRestartOf(compute: Compute): PendingRestart | undefined {
  return markIn(compute, "pendingRestart", pendingRestart);
}

export function pendingTakeoverOf(compute: Compute): PendingTakeover | undefined {
  return markIn(compute, "pendingTakeover", pendingTakeover);
}

/** One annotation of the operator's, by its short name. */
export function annotation({ metadata }: Compute, name: keyof typeof annotations): string | undefined {
  return metadata.annotations?.[annotations[name]];
}

/** A mark of this very object; anything else counts as none. */
function markIn<T extends { uid: string }>(
  compute: Compute,
  name: "pendingCreate" | "pendingRestart" | "pendingTakeover",
  schema: z.ZodType<T>,
): T | undefined {
  const text = annotation(compute, name);
  if (text === undefined) return undefined;
  try {
    const mark = schema.parse(JSON.parse(text));
    return mark.uid === compute.metadata.uid ? mark : undefined;
  } catch {
    return undefined;
  }
}
