import { type ConditionRow, rowIn } from "../conditions/rows.ts";

const settled: ConditionRow = { ready: "True", synced: "True", reconciling: false, stalled: false, look: "refresh" };
const inProgress: ConditionRow = {
  ready: "False",
  synced: "False",
  reconciling: true,
  stalled: false,
  look: "progress",
};
const retried: ConditionRow = { ...inProgress, look: "backoff" };
const hindered: ConditionRow = { ...retried, synced: "compared" };
const stalled: ConditionRow = { ...inProgress, reconciling: false, stalled: true, look: "slow" };

/** The one place that decides what a reason means for the conditions of a Branch, and when it is reconciled again. */
export const branchReasons = {
  Available: settled,
  Drifted: { ...settled, synced: "False" },
  Creating: inProgress,
  Updating: inProgress,
  Resetting: inProgress,
  Deleting: inProgress,
  InUse: { ...inProgress, look: "patient" },
  HasChildren: { ...inProgress, look: "patient" },
  CreateUnknown: retried,
  ProjectBusy: retried,
  RateLimited: hindered,
  ServiceUnavailable: hindered,
  Unauthorized: { ...hindered, stalled: "later", look: "slow" },
  Forbidden: { ...hindered, stalled: "later", look: "patient" },
  ConnectionNotFound: { ...hindered, stalled: "later", look: "slow" },
  ConnectionNotReady: { ...hindered, look: "slow" },
  ProjectNotFound: { ...hindered, stalled: "later", look: "patient" },
  BranchNotFound: { ...retried, stalled: "later", look: "patient" },
  BranchExists: stalled,
  AdoptionRefused: stalled,
  Conflict: stalled,
  Protected: stalled,
  Rejected: stalled,
  // The service ends branches on time and nothing more is to be seen: only a person begins again.
  Expired: { ...stalled, look: "refresh" },
  BranchLost: { ...stalled, look: "refresh" },
  Paused: { ...settled, ready: "kept", synced: "compared" },
} as const satisfies Record<string, ConditionRow>;

export type BranchReason = keyof typeof branchReasons;

/** True if an event about the reason is a warning, and the end of it is news. */
export function isTroublesome(reason: string | undefined): boolean {
  // The end of a branch was asked for.
  if (reason === "Expired") return false;
  const row = rowIn<ConditionRow>(branchReasons, reason);
  return (
    row !== undefined &&
    (row.stalled !== false || row.look === "backoff" || row.look === "patient" || reason === "Drifted")
  );
}
