import { timestamp } from "../../objects/conditions-of.ts";
import type { Compute, ComputeStatus } from "../../resources/compute.ts";
import { opensAt } from "../../resources/effective-spec.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { entryOf, shownEntry } from "../observe/moment.ts";
import type { Effect, Outcome } from "../outcome.ts";
import type { Seen } from "./seen.ts";

/** The entry that the service was brought to, and the changes that wait, once this generation was looked at. */
export function left(compute: Compute, effect: Outcome["effect"], seen: Seen): ComputeStatus {
  // Of what is only observed nothing waits: what Manage would change is drift.
  if (isObserved(compute)) return { waiting: undefined };
  if (effect.kind !== "accepted" && effect.kind !== "settled") return {};
  const { waiting = [] } = effect;
  const appliedEntry = compute.spec.schedule === undefined ? undefined : entryAfter(effect, seen);
  return { appliedEntry, waiting: waiting.length === 0 ? undefined : [...waiting] };
}

/** The entry that the service was brought to, beside the size by which later processes tell whether that changed. */
export function brought({ spec }: Compute, { broughtTo, endpoint }: Seen): ComputeStatus {
  const isShown = spec.schedule !== undefined && endpoint !== undefined && broughtTo !== undefined;
  return isShown && !isObserved({ spec }) ? { appliedEntry: broughtTo } : {};
}

/** A status that was held back names the entry of its write, whichever is in force by now. */
function entryAfter(effect: Extract<Effect, { kind: "accepted" | "settled" }>, seen: Seen): string | undefined {
  if (effect.kind === "accepted") return effect.entry;
  return effect.keepsEntry === true ? seen.broughtTo : entryOf(seen);
}

/** The entry in force, and the next window while something waits for one, by the service's clock. */
export function timed(
  { compute, condition }: Outcome,
  { moment }: Seen,
  waiting: ComputeStatus["waiting"],
): ComputeStatus {
  if (condition.kind !== "shown") return {};
  const { schedule } = compute.spec;
  if (moment === undefined) return { schedule: undefined, nextWindow: undefined };
  const opens = waiting === undefined || moment.closed === undefined ? undefined : opensAt(moment.closed, moment.now);
  return {
    schedule: schedule && shownEntry(moment),
    nextWindow: opens === undefined ? undefined : timestamp(opens),
  };
}
