import { type ConditionRow, hindrances, rows, standingIn } from "../conditions/rows.ts";

const { settled, inProgress, retried, stalled, ended } = rows;

/** The one place that decides what a reason means for the conditions of a Branch, and when it is reconciled again. */
export const branchReasons = {
  Available: settled,
  Observed: { ...settled, synced: "compared" },
  Drifted: { ...settled, synced: "False" },
  Creating: inProgress,
  Updating: inProgress,
  Resetting: inProgress,
  Deleting: inProgress,
  InUse: { ...inProgress, requeue: "patient" },
  HasChildren: { ...inProgress, requeue: "patient" },
  CreateUnknown: retried,
  ProjectBusy: retried,
  OperationFailed: { ...retried, requeue: "slow" },
  ...hindrances,
  BranchNotFound: { ...retried, stalled: "later", requeue: "patient" },
  BranchExists: stalled,
  AdoptionRefused: stalled,
  Conflict: stalled,
  Protected: stalled,
  Rejected: stalled,
  // The service ends branches on time and nothing more is to be seen: only a person begins again.
  Expired: ended,
  BranchLost: { ...stalled, requeue: "refresh" },
  Paused: rows.paused,
} as const satisfies Record<string, ConditionRow>;

export type BranchReason = keyof typeof branchReasons;

/** True if the reason is a warning, and its end is news. */
export function isTroublesome(reason: string | undefined): boolean {
  return standingIn(branchReasons, reason) === "trouble";
}
