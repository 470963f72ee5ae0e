/**
 * The time of the next reconcile. `refresh`: with the project's next list. `progress`: soon, then ever later.
 * `backoff`: after a failure that is expected to pass. `patient`: after one that somebody else has to fix. `slow`: at
 * most hourly; a person has to act, and their change enqueues the Compute.
 */
export type RetryPace = "refresh" | "progress" | "backoff" | "patient" | "slow";

/**
 * The standing of an object that shows a reason, which decides whether the reason is an event. `trouble`: a warning,
 * and its end is news. `progress`: of our own write, whose event says as much. `other`: news whenever it begins.
 */
export type Standing = "rest" | "progress" | "trouble" | "other";

/** The meaning of a reason for the conditions of an object, its events, and the time of its next reconcile. */
export interface ConditionRow {
  /** `kept`: as it was. `ended`: in place of Ready there is the condition `Expired`, and nothing else is wanted. */
  ready: "True" | "False" | "Unknown" | "kept" | "ended";
  /** `compared`: as this reconcile saw it, and `Unknown` where it compared nothing. `none`: the kind has none. */
  synced: "True" | "False" | "compared" | "none";
  reconciling: boolean;
  /** `later`: once it has held for `stallsAfterMs`, and instead of `reconciling`. It is retried all the same. */
  stalled: boolean | "later";
  requeue: RetryPace;
  /**
   * The reach of the object's connection to its project, as far as the reason says. `first`: not until the first list
   * of the project. Left out: it reaches the project.
   */
  reaches?: "yes" | "first" | "no";
  /** Overrides the standing that follows from the other members. */
  standing?: Standing;
}

const inProgress: ConditionRow = {
  ready: "False",
  synced: "False",
  reconciling: true,
  stalled: false,
  requeue: "progress",
};
const retried: ConditionRow = { ...inProgress, requeue: "backoff" };

/** The rows that most reasons have. */
export const rows = {
  settled: { ready: "True", synced: "True", reconciling: false, stalled: false, requeue: "refresh" },
  inProgress,
  retried,
  /** Something is in the way of seeing the object at the service, or of writing to it. */
  hindered: { ...retried, synced: "compared", reaches: "first" },
  stalled: { ...inProgress, reconciling: false, stalled: true, requeue: "slow" },
  /** The project is neither written to nor looked at. */
  paused: {
    ready: "kept",
    synced: "compared",
    reconciling: false,
    stalled: false,
    requeue: "refresh",
    reaches: "no",
  },
  /** An end that was declared is no failure: tools see an object that is as it should be. */
  ended: { ready: "ended", synced: "True", reconciling: false, stalled: false, requeue: "refresh", standing: "other" },
} as const satisfies Record<string, ConditionRow>;

const unreached = { ...rows.hindered, reaches: "no" } as const;

/** The reasons for which an object's connection shows nothing of its project, the same for every kind that uses one. */
export const hindrances = {
  RateLimited: rows.hindered,
  ServiceUnavailable: rows.hindered,
  Unauthorized: { ...unreached, stalled: "later", requeue: "slow" },
  Forbidden: { ...unreached, stalled: "later", requeue: "patient" },
  ConnectionNotFound: { ...unreached, stalled: "later", requeue: "slow" },
  ConnectionNotReady: { ...unreached, requeue: "slow" },
  ProjectNotFound: { ...unreached, stalled: "later", requeue: "patient" },
} as const satisfies Record<string, ConditionRow>;

/** The standing of an object that shows the reason of this row. */
export function standingOf({ ready, synced, stalled, requeue, standing }: ConditionRow): Standing {
  if (standing !== undefined) return standing;
  if (ready === "True") return synced === "False" ? "trouble" : "rest";
  const isRetried = requeue === "backoff" || requeue === "patient" || requeue === "slow";
  return stalled !== false || isRetried ? "trouble" : "progress";
}

/** The row of a reason that a status shows; `undefined` for none, or one of another version. */
export function rowIn<Row extends ConditionRow>(
  table: Readonly<Record<string, Row>>,
  reason: string | undefined,
): Row | undefined {
  return reason !== undefined && Object.hasOwn(table, reason) ? table[reason] : undefined;
}

/** The standing of an object that shows this reason; `undefined` for no reason, or one of another version. */
export function standingIn(
  table: Readonly<Record<string, ConditionRow>>,
  reason: string | undefined,
): Standing | undefined {
  const row = rowIn(table, reason);
  return row && standingOf(row);
}

/** For so long, in milliseconds, a reason that stalls later counts as in progress. */
export const stallsAfterMs = 300_000;

/** The delay before the n-th reconcile in a row for one reason, in milliseconds; `undefined` waits for news. */
export function requeueDelay(requeue: Exclude<RetryPace, "refresh">, earlier: number): number;
export function requeueDelay(requeue: RetryPace, earlier: number): number | undefined;
export function requeueDelay(requeue: RetryPace, earlier: number): number | undefined {
  switch (requeue) {
    case "refresh":
      return undefined;
    case "progress":
      return Math.min(10_000, 500 * 1.6 ** earlier);
    case "backoff":
      return Math.min(60_000, 1000 * 2 ** earlier);
    case "patient":
      return Math.min(300_000, 5000 * 2 ** earlier);
    case "slow":
      return Math.min(3_600_000, 60_000 * 2 ** earlier);
  }
}
