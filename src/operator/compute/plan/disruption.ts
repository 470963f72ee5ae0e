import { isInProgress } from "../../../api/operation.ts";
import { groupOf } from "../../fields/compare.ts";
import { rangeOf } from "../../fields/declared.ts";
import { generationOf } from "../../objects/object.ts";
import type { Compute } from "../../resources/compute.ts";
import { effectiveSpec, inForce as inForceAt } from "../../resources/effective-spec.ts";
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
 * The entry that the service was last brought to, empty for none; `undefined` before it was brought to any. This term
 * knows of its answered writes, and the status of earlier ones. A write of which neither says anything (no answer came,
 * or the process died before the status) shows at the endpoint.
 */
export function broughtTo(o: Observation, { accepted, failedWrite }: ReadonlyState): string | undefined {
  const { status } = o.compute;
  const own = accepted?.endpointID === o.links.link?.endpoint.id ? accepted : undefined;
  const { appliedGeneration = -1, appliedEntry } = status;
  const known = own?.entry ?? appliedEntry ?? (appliedGeneration < 0 ? undefined : "");
  if (known === undefined || (own?.entry !== undefined && failedWrite === undefined)) return known;
  return entryShown(o, Math.max(appliedGeneration, own?.generation ?? -1)) ?? known;
}

/**
 * The entry in force when the endpoint was last changed, by the service's clock, if its size is another than the status
 * shows: that of the entry, or one that an edit since the write has replaced.
 */
function entryShown({ compute, moment, links: { link } }: Observation, generation: number): string | undefined {
  const shown = link && rangeOf(link.endpoint);
  const changedAt = Date.parse(link?.endpoint.updated_at ?? "");
  if (shown === undefined || moment === undefined || Number.isNaN(changedAt)) return undefined;
  if (isSameSize(shown, compute.status.computeUnits)) return undefined;
  const isOfEntry = isSameSize(shown, effectiveSpec(moment.declared, changedAt).computeUnits);
  return isOfEntry || generationOf(compute) > generation
    ? (inForceAt(moment.declared.schedule ?? [], changedAt).entry?.name ?? "")
    : undefined;
}

function isSameSize(
  one: { min: number; max: number },
  other: { min?: number | undefined; max?: number | undefined } | undefined,
): boolean {
  return one.min === other?.min && one.max === other.max;
}

/**
 * The fields of the two entries between which the schedule changed since the service was last brought to one; none if
 * the name of the entry is the same. Nothing is known before the service was brought to any.
 */
export function rescheduled(o: Observation, s: ReadonlyState): ReadonlySet<string> {
  const { spec } = o.compute;
  const applied = broughtTo(o, s);
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
