/**
 * When to look again. `refresh`: with the project's next list. `progress`: soon, then ever later. `backoff`: after a
 * failure that passes by itself. `patient`: for what somebody elsewhere has to put right. `slow`: hardly; a person has
 * to act, and whatever they change wakes the Compute.
 */
export type Requeue = "refresh" | "progress" | "backoff" | "patient" | "slow";

export interface Row {
  /** `kept`: as it was. */
  ready: "True" | "False" | "kept";
  /** `compared`: as this reconcile saw it, and `Unknown` where it compared nothing. */
  synced: "True" | "False" | "compared";
  reconciling: boolean;
  stalled: boolean;
  look: Requeue;
}

const settled: Row = { ready: "True", synced: "True", reconciling: false, stalled: false, look: "refresh" };
const inProgress: Row = { ready: "False", synced: "False", reconciling: true, stalled: false, look: "progress" };
const sameSpec: Row = { ...inProgress, synced: "True" };
const retried: Row = { ready: "False", synced: "False", reconciling: true, stalled: false, look: "backoff" };
/** Something is in the way of seeing the endpoint or of writing to it. */
const hindered: Row = { ...retried, synced: "compared" };
const stalled: Row = { ready: "False", synced: "False", reconciling: false, stalled: true, look: "slow" };

/**
 * The one place that decides what a reason means for the conditions and when to look again. `Stalled` wherever only a
 * person can help.
 */
export const reasons = {
  Active: settled,
  Idle: settled,
  Disabled: settled,
  Drifted: { ...settled, synced: "False" },
  Creating: inProgress,
  Starting: sameSpec,
  Updating: inProgress,
  Moving: inProgress,
  Restarting: sameSpec,
  Deleting: inProgress,
  ProjectBusy: retried,
  RateLimited: hindered,
  ServiceUnavailable: hindered,
  CreateUnknown: retried,
  Unauthorized: { ...hindered, look: "slow" },
  Forbidden: { ...hindered, look: "patient" },
  ConnectionNotFound: { ...hindered, look: "slow" },
  ConnectionNotReady: { ...hindered, look: "slow" },
  ProjectNotFound: { ...hindered, look: "patient" },
  BranchNotFound: { ...retried, look: "patient" },
  PrimaryExists: stalled,
  AdoptionRefused: stalled,
  Conflict: stalled,
  Rejected: stalled,
  OperationFailed: { ...retried, look: "slow" },
  EndpointLost: inProgress,
  MassLoss: stalled,
  Paused: { ready: "kept", synced: "compared", reconciling: false, stalled: false, look: "refresh" },
} as const satisfies Record<string, Row>;

export type Reason = keyof typeof reasons;

/** What our own write is doing while it runs. */
export type Progress = "Creating" | "Starting" | "Updating" | "Moving" | "Restarting";

const progressing: readonly string[] = ["Creating", "Starting", "Updating", "Moving", "Restarting"];

export function isProgress(reason: string | undefined): reason is Progress {
  return reason !== undefined && progressing.includes(reason);
}

/** The delay before the n-th look in a row for one reason, in milliseconds; `undefined` waits for news. */
export function requeueDelay(look: Exclude<Requeue, "refresh">, lookedBefore: number): number;
export function requeueDelay(look: Requeue, lookedBefore: number): number | undefined;
export function requeueDelay(look: Requeue, lookedBefore: number): number | undefined {
  switch (look) {
    case "refresh":
      return undefined;
    case "progress":
      return Math.min(10_000, 500 * 1.6 ** lookedBefore);
    case "backoff":
      return Math.min(60_000, 1000 * 2 ** lookedBefore);
    case "patient":
      return Math.min(300_000, 5000 * 2 ** lookedBefore);
    case "slow":
      return Math.min(3_600_000, 60_000 * 2 ** lookedBefore);
  }
}
