import { type ConditionRow, requeueDelay, stallsAfterMs } from "../conditions/rows.ts";
import { type Condition, conditionOf } from "../objects/conditions-of.ts";
import { earlyMs } from "../runtime/clock.ts";
import { seldomMs } from "../runtime/waits.ts";
import type { Outcome } from "./outcome.ts";

/** The reason of the last reconciles, and when the object is due again. Times in monotonic milliseconds. */
export interface Due {
  reason: string;
  /** Number of reconciles in a row for this reason, and the time of the first. */
  count: number;
  since?: number | undefined;
  /** Time from which a list is needed. */
  dueAt: number | undefined;
  /** Time from which a list may end something that only time ends, whatever the reason. */
  timedAt?: number | undefined;
  /**
   * Time at which the result of the write under way is expected to be seen. Where operations take ten seconds, eight
   * resizes cost 9 status patches instead of 16, and eight creates 35 instead of 39; where they take one, nothing is
   * saved.
   */
  resultAt?: number | undefined;
  /** Operations of the endpoint were in progress at the last reconcile. */
  wasBusy?: boolean;
}

export const nothingDue: Due = { reason: "", count: 0, dueAt: undefined };

/** A list that is waited for may be late: it is looked for again after this long, in milliseconds. */
const lateListMs = 1000;

/** The time from which a list is needed, if the reconcile that begins now is the one that was due. */
export function fallenDue({ dueAt }: Due, now: number): number | undefined {
  return dueAt !== undefined && now > dueAt - earlyMs ? dueAt : undefined;
}

/**
 * Memory after a reconcile: when the object is due as action and reason say, or sooner if something falls due. `row`:
 * that of the reason shown.
 */
function nextDue(
  outcome: Pick<Outcome<string>, "condition" | "requeue">,
  row: ConditionRow | undefined,
  before: Due,
  now: number,
): Due {
  const next = { ...before, ...nextByReason(outcome, row, before, now) };
  const { timedAt } = before;
  if (timedAt === undefined) return next;
  return { ...next, dueAt: Math.min(next.dueAt ?? Number.POSITIVE_INFINITY, Math.max(timedAt, now + lateListMs)) };
}

/**
 * The action's time or its reason's; a sooner one stays, also one that passed since the reconcile began: its list is
 * still to be asked for. The reason's time is never before the expected result of the write under way, and never after
 * the reason begins to stall.
 */
function nextByReason(
  { condition, requeue }: Pick<Outcome<string>, "condition" | "requeue">,
  row: ConditionRow | undefined,
  before: Due,
  now: number,
): Partial<Due> {
  const { reason, count, dueAt, since, resultAt = Number.NEGATIVE_INFINITY } = before;
  const needsNoList = requeue.kind === "now" || (requeue.kind === "after" && requeue.needsNoNewList === true);
  const asked = requeue.kind === "after" && !needsNoList ? now + requeue.ms : undefined;
  if (requeue.kind === "enqueued") return { dueAt: undefined };
  if (condition.kind !== "shown" || row === undefined) {
    if (needsNoList) return { dueAt: undefined };
    return { dueAt: asked === undefined ? dueAt : Math.min(dueAt ?? Number.POSITIVE_INFINITY, asked) };
  }
  const isSame = reason === condition.reason;
  if (asked === undefined && !needsNoList && isSame && dueAt !== undefined) return {};
  const earlier = isSame ? count : 0;
  const begun = (isSame ? since : undefined) ?? now;
  const counted = { reason: condition.reason, count: earlier + 1, since: begun };
  if (needsNoList) return { ...counted, dueAt: undefined };
  const delay = requeueDelay(row.requeue, earlier);
  const byReason = delay === undefined ? undefined : Math.max(resultAt, now + delay);
  const stallsAt = row.stalled === "later" && now < begun + stallsAfterMs ? begun + stallsAfterMs : undefined;
  const next = asked ?? byReason;
  return {
    ...counted,
    dueAt: stallsAt === undefined || next === undefined ? (next ?? stallsAt) : Math.min(next, stallsAt),
  };
}

/**
 * The milliseconds until the next reconcile, which the memory takes up; `undefined`: only a change brings it. `latest`:
 * its latest time, whatever the reason.
 */
export function dueAfter(
  outcome: Pick<Outcome<string>, "condition" | "requeue">,
  reasons: Readonly<Record<string, ConditionRow>>,
  memory: { requeue: Due },
  now: number,
  latest: number,
): number | undefined {
  const { condition } = outcome;
  if (condition.kind === "released") return undefined;
  const row = condition.kind === "shown" ? reasons[condition.reason] : undefined;
  memory.requeue = nextDue(outcome, row, memory.requeue, now);
  return untilDue(outcome, memory.requeue, now, latest);
}

/** The milliseconds until the next reconcile, at the latest `by` then; `undefined`: only a change brings it. */
function untilDue(
  { condition, requeue }: Pick<Outcome<string>, "condition" | "requeue">,
  { dueAt }: Due,
  now: number,
  by: number,
): number | undefined {
  if (condition.kind === "released") return undefined;
  if (requeue.kind === "now") return 1;
  const asked = requeue.kind === "after" ? now + requeue.ms : Number.POSITIVE_INFINITY;
  // The event that enqueues it may be missed.
  const missed = requeue.kind === "enqueued" ? now + seldomMs : Number.POSITIVE_INFINITY;
  const next = Math.min(dueAt ?? Math.min(asked, missed), by);
  return next === Number.POSITIVE_INFINITY ? undefined : Math.max(1, next - now);
}

/**
 * True if a reason has held for so long that it stalls. The status outlives this process, which otherwise knows since
 * when; `before`: as remembered before the reconcile.
 */
export function isStalling(
  reason: string,
  { status }: { status: { conditions?: readonly Condition[] | undefined } },
  before: Due,
  now: number,
): boolean {
  if (conditionOf(status, "Stalled")?.reason === reason) return true;
  const since = before.reason === reason ? before.since : undefined;
  return since !== undefined && now - since > stallsAfterMs - earlyMs;
}
