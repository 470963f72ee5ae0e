import { timestamp } from "../../objects/conditions-of.ts";
import type { Compute, ComputeStatus } from "../../resources/compute.ts";
import { opensAt } from "../../resources/effective-spec.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { entryOf, shownEntry } from "../observe/moment.ts";
import type { Outcome } from "../outcome.ts";
import type { Seen } from "./seen.ts";

/** The entry that the service was brought to, and the changes that wait, once this generation was looked at. */
export function left(compute: Compute, effect: Outcome["effect"], seen: Seen): ComputeStatus {
  // Of what is only observed nothing waits: what Manage would change is drift.
  if (isObserved(compute)) return { waiting: undefined };
  if (effect.kind !== "accepted" && effect.kind !== "settled") return {};
  const { waiting = [] } = effect;
  const isKept = effect.kind === "settled" && effect.keepsEntry === true;
  const entry = isKept ? compute.status.appliedEntry : entryOf(seen);
  const appliedEntry = compute.spec.schedule === undefined ? undefined : entry;
  return { appliedEntry, waiting: waiting.length === 0 ? undefined : [...waiting] };
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
