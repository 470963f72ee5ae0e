import { type ConditionRow, rowIn, rows, standingIn } from "../conditions/rows.ts";

const { settled, inProgress, retried, hindered, stalled, ended } = rows;

/** The one place that decides what a reason means for the conditions of a Branch, and when it is reconciled again. */
export const branchReasons = {
  Available: settled,
  Drifted: { ...settled, synced: "False" },
  Creating: inProgress,
  Updating: inProgress,
  Resetting: inProgress,
  Deleting: inProgress,
  InUse: { ...inProgress, requeue: "patient" },
  HasChildren: { ...inProgress, requeue: "patient" },
  CreateUnknown: retried,
  ProjectBusy: retried,
  RateLimited: hindered,
  ServiceUnavailable: hindered,
  Unauthorized: { ...hindered, stalled: "later", requeue: "slow" },
  Forbidden: { ...hindered, stalled: "later", requeue: "patient" },
  ConnectionNotFound: { ...hindered, stalled: "later", requeue: "slow" },
  ConnectionNotReady: { ...hindered, requeue: "slow" },
  ProjectNotFound: { ...hindered, stalled: "later", requeue: "patient" },
  BranchNotFound: { ...retried, stalled: "later", requeue: "patient" },
  BranchExists: stalled,
  AdoptionRefused: stalled,
  Conflict: stalled,
  Protected: stalled,
  Rejected: stalled,
  // The service ends branches on time and nothing more is to be seen: only a person begins again.
  Expired: ended,
  BranchLost: { ...stalled, requeue: "refresh" },
  Paused: { ...settled, ready: "kept", synced: "compared" },
} as const satisfies Record<string, ConditionRow>;

export type BranchReason = keyof typeof branchReasons;

/** True if the reason is a warning, and its end is news. */
export function isTroublesome(reason: string | undefined): boolean {
  return standingIn(branchReasons, reason) === "trouble";
}

/** True if an object that shows this reason is paused, or something is in the way of seeing its project. */
export function isHindered(reason: string): boolean {
  return rowIn<ConditionRow>(branchReasons, reason)?.synced === hindered.synced;
}
