import { mostLagMs } from "../../api/list-lag.ts";
import { requeueDelay, stallsAfterMs } from "../conditions/rows.ts";
import type { Observation, Observed } from "./observe/observation.ts";
import type { Outcome } from "./outcome.ts";
import { deleteDueAt } from "./plan/lost.ts";
import { closesAt } from "./record.ts";
import type { ReadonlyState, Remembered } from "./remembered.ts";
import { type Row, reasons } from "./words/reasons.ts";

/** A list that is waited for may be late: it is looked for again after this long, in milliseconds. */
const lateListMs = 1000;

/**
 * Next time from which a list may end what no change at the service ends: only time shows that the record or a note may
 * go, or that a duplicate is to be deleted once more. The same whatever the plan chose; `undefined`: nothing is due.
 */
export function fallsDueAt(o: Observed, s: ReadonlyState): number | undefined {
  if (o.kind !== "observed") return undefined;
  const times = o.links.duplicates.map(({ id }) => deleteDueAt(s, id));
  if (s.write?.phase === "open") times.push(closesAt(o, s.write));
  if (o.compute.status.disabledByUs === true && o.links.link?.endpoint.disabled === false)
    times.push(noteClearsAt(o, s));
  const next = Math.min(...times.filter((at) => at > o.startedAt));
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

/** Time from which a list that shows the endpoint enabled clears `disabledByUs`: nothing can disable it any more. */
export function noteClearsAt(
  { createSettleMs }: Observation,
  { disableNotedAt = Number.POSITIVE_INFINITY }: ReadonlyState,
): number {
  return disableNotedAt + createSettleMs + mostLagMs;
}

type Next = Pick<Remembered["requeue"], "reason" | "count" | "since" | "dueAt">;

/** Time at which a Compute is due after a reconcile: as action and reason say, or sooner if something falls due. */
export function nextRequeue(outcome: Outcome, s: ReadonlyState, now: number): Next {
  const next = nextByReason(outcome, s, now);
  const { timedAt } = s.requeue;
  if (timedAt === undefined) return next;
  return { ...next, dueAt: Math.min(next.dueAt ?? Number.POSITIVE_INFINITY, Math.max(timedAt, now + lateListMs)) };
}

/**
 * The action's time or its reason's; a sooner one stays, also one that passed since the reconcile began: its list is
 * still to be asked for. The reason's time is never before the expected result of the write under way, and never after
 * the reason begins to stall.
 */
function nextByReason({ condition, requeue }: Outcome, { requeue: before }: ReadonlyState, now: number): Next {
  const { reason, count, dueAt, since, resultAt = Number.NEGATIVE_INFINITY } = before;
  const asked = requeue.kind === "after" ? now + requeue.ms : undefined;
  if (requeue.kind === "enqueued") return { ...before, dueAt: undefined };
  if (condition.kind !== "shown") {
    const next = asked === undefined ? dueAt : Math.min(dueAt ?? Number.POSITIVE_INFINITY, asked);
    return { ...before, dueAt: next };
  }
  if (asked === undefined && reason === condition.reason && dueAt !== undefined) return before;
  const isSame = reason === condition.reason;
  const earlier = isSame ? count : 0;
  const row: Row = reasons[condition.reason];
  const delay = requeueDelay(row.requeue, earlier);
  const byReason = delay === undefined ? undefined : Math.max(resultAt, now + delay);
  const begun = (isSame ? since : undefined) ?? now;
  const stallsAt = row.stalled === "later" && now < begun + stallsAfterMs ? begun + stallsAfterMs : undefined;
  const next = asked ?? byReason;
  return {
    reason: condition.reason,
    count: earlier + 1,
    since: begun,
    dueAt: stallsAt === undefined || next === undefined ? (next ?? stallsAt) : Math.min(next, stallsAt),
  };
}
