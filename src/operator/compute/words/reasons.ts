import { conditionsFor } from "../../conditions/conditions.ts";
import { type ConditionRow, hindrances, rowIn, rows, standingIn, standingOf } from "../../conditions/rows.ts";
import type { Compute, Condition } from "../../resources/compute.ts";

export interface Row extends ConditionRow {
  /** `plan` reports an error: nothing of the project can be seen, or an operation failed. */
  planError: boolean;
  /** The step of `apply` where it waits for this reason: goes on waiting, ends well, or ends as failed. */
  apply: "wait" | "done" | "fail";
  /** A write that failed for this reason may be sent again by `apply`. */
  retryWrite: boolean;
}

const usual = { planError: false, apply: "wait", retryWrite: false } as const;
const settled: Row = { ...usual, ...rows.settled };
const inProgress: Row = { ...usual, ...rows.inProgress };
const sameSpec: Row = { ...inProgress, synced: "True" };
const retried: Row = { ...usual, ...rows.retried };
/** The project cannot be seen. */
const unseen = { ...usual, planError: true } as const;
const failed = { ...unseen, apply: "fail" } as const;
const stalled: Row = { ...usual, ...rows.stalled };

/**
 * The one place that decides what a reason means for the conditions and for the time of the next reconcile. `Stalled`
 * wherever only a person can help.
 */
export const reasons = {
  Active: settled,
  Idle: settled,
  Disabled: settled,
  Drifted: { ...settled, synced: "False" },
  Observed: { ...settled, synced: "compared" },
  WaitingForWindow: { ...settled, synced: "False", standing: "other" },
  WaitingForTurn: { ...settled, synced: "compared", requeue: "patient", standing: "other" },
  Creating: inProgress,
  Starting: sameSpec,
  Updating: inProgress,
  Moving: inProgress,
  Restarting: sameSpec,
  Deleting: { ...inProgress, standing: "other" },
  ProjectBusy: { ...retried, retryWrite: true },
  RateLimited: { ...unseen, ...hindrances.RateLimited, retryWrite: true },
  ServiceUnavailable: { ...unseen, ...hindrances.ServiceUnavailable, retryWrite: true },
  CreateUnknown: { ...retried, retryWrite: true },
  Unauthorized: { ...failed, ...hindrances.Unauthorized },
  Forbidden: { ...failed, ...hindrances.Forbidden },
  ConnectionNotFound: { ...unseen, ...hindrances.ConnectionNotFound },
  ConnectionNotReady: { ...failed, ...hindrances.ConnectionNotReady },
  ProjectNotFound: { ...failed, ...hindrances.ProjectNotFound },
  BranchNotFound: { ...retried, stalled: "later", requeue: "patient", apply: "fail" },
  Expired: { ...usual, ...rows.ended, apply: "done" },
  BranchNotReady: { ...retried, requeue: "patient", apply: "fail" },
  PrimaryExists: { ...stalled, retryWrite: true },
  FormerMembers: stalled,
  AdoptionRefused: stalled,
  Conflict: stalled,
  Rejected: stalled,
  MovedOutside: stalled,
  SecretNotAllowed: stalled,
  OperationFailed: { ...retried, requeue: "slow", planError: true, apply: "fail" },
  EndpointLost: { ...inProgress, standing: "trouble" },
  MassLoss: stalled,
  Paused: { ...usual, ...rows.paused, standing: "other", apply: "done" },
} as const satisfies Record<string, Row>;

export type Reason = keyof typeof reasons;

/** The row of a reason that a status shows; undefined for none, or one of another version. */
export function rowOf(reason: string | undefined): Row | undefined {
  return rowIn<Row>(reasons, reason);
}

/** The conditions of a Compute for a reason. */
export function conditionsOf(
  compute: Compute,
  reason: Reason,
  message: string,
  seen: { now: number; compared: boolean | undefined; stalls?: boolean },
): Condition[] {
  return conditionsFor(compute, reasons[reason], { reason, message }, seen);
}

/** Ready and in step with the spec: whichever of these it is, is the service's own to decide. */
export function isAtRest(reason: string | undefined): boolean {
  return standingIn(reasons, reason) === "rest";
}

/**
 * True if a Compute that shows this reason is not ready by a fault of its own. Work in progress is none, and neither is
 * anything that keeps the operator from seeing the endpoint or from writing to it: its clients may be connected.
 */
export function isFaulty(reason: string | undefined): boolean {
  const row = rowOf(reason);
  const isHindered = row?.reaches !== undefined || reason === "ProjectBusy";
  return row?.ready === "False" && standingOf(row) === "trouble" && !isHindered;
}

/** Progress of our own write while it runs. */
export type Progress = "Creating" | "Starting" | "Updating" | "Moving" | "Restarting";

export function isProgress(reason: string | undefined): reason is Progress {
  return standingIn(reasons, reason) === "progress";
}
