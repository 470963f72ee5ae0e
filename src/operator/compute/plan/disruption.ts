import { isInProgress } from "../../../api/operation.ts";
import { groupOf } from "../../fields/compare.ts";
import type { Compute } from "../../resources/compute.ts";
import type { ReadonlyState } from "../memory.ts";
import { entryOf } from "../observe/moment.ts";
import type { Observation } from "../observe/observation.ts";

/** A list that shows a compute idle is believed for so long, in milliseconds: then somebody may have woken it. */
const believedForMs = 5000;

/** True if the list is new enough to say that nobody is connected; an answer laid over it is none. */
export function isListFresh({ laidOver, startedAt, now }: Observation): boolean {
  return laidOver !== true && now - startedAt <= believedForMs;
}

/** True if nothing is cut: the compute is suspended or disabled, and nothing is pending. */
export function isIdleSeen({ links: { link }, operations }: Observation): boolean {
  if (link === undefined || operations.some(isInProgress)) return false;
  const { current_state: state, pending_state: pending, disabled } = link.endpoint;
  return pending === undefined && (state === "idle" || disabled === true);
}

const none: ReadonlySet<string> = new Set();

/**
 * The fields of the two entries between which the schedule changed since the service was last brought to one; none if
 * the name of the entry is the same. Nothing is known before the service was brought to any.
 */
export function rescheduled(o: Observation, { accepted }: ReadonlyState): ReadonlySet<string> {
  const { spec, status } = o.compute;
  const isOwn = accepted !== undefined && accepted.endpointID === o.links.link?.endpoint.id;
  const wasBrought = (status.appliedGeneration ?? -1) >= 0;
  const applied = (isOwn ? accepted.entry : undefined) ?? status.appliedEntry ?? (wasBrought ? "" : undefined);
  const now = entryOf(o);
  return applied === undefined || applied === now ? none : new Set([applied, now].flatMap((name) => named(name, spec)));
}

/** The fields that an entry names; those that any may name, if it is not in the schedule any more. */
function named(name: string, { schedule = [] }: Compute["spec"]): string[] {
  const entry = schedule.find((one) => one.name === name);
  if (name === "") return [];
  return ["computeUnits", "scaleToZero"].filter((field) => entry === undefined || Object.hasOwn(entry, field));
}

/** The entry in force, of an action that brings the service to it. */
export function inForce(o: Observation): { entry?: string } {
  const entry = entryOf(o);
  return entry === "" ? {} : { entry };
}

export function isOfEntries(change: { field: string }, entries: ReadonlySet<string>): boolean {
  return entries.has(groupOf(change.field));
}
