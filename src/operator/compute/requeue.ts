import { mostLagMs } from "../../api/list-lag.ts";
import { marginMs, opensAt } from "../resources/effective-spec.ts";
import type { ReadonlyState } from "./memory.ts";
import type { Observation, Observed } from "./observe/observation.ts";
import { heldIn } from "./plan/changes.ts";
import { deleteDueAt } from "./plan/lost.ts";
import { closesAt } from "./record.ts";

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

/**
 * Next time, monotonic, at which the wall clock changes what is to be sent: another entry comes into force, or a window
 * opens that a change waits for. No list of its own is needed. Infinite: none.
 */
export function clockDueAt(o: Observed, s: ReadonlyState): number {
  const { moment, compute, now } = o;
  if (moment === undefined) return Number.POSITIVE_INFINITY;
  // A password's age waits for a window too.
  const awaitsWindow =
    compute.spec.connectionSecret?.rotation !== undefined || (o.kind === "observed" && heldIn(o, s).length > 0);
  const opens = awaitsWindow && moment.closed !== undefined ? opensAt(moment.closed, moment.now) : undefined;
  const times = [moment.until, opens === undefined ? undefined : opens + marginMs].filter((at) => at !== undefined);
  return now + Math.min(...times.map((at) => at - moment.now));
}
