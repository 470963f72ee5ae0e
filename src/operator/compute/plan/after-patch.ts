import { isInProgress } from "../../../api/operation.ts";
import { compare, desiredSpec } from "../../fields/compare.ts";
import { generationOf } from "../../objects/object.ts";
import { branchIDOf } from "../../resources/compute.ts";
import type { Patched } from "../memory.ts";
import { entryOf } from "../observe/moment.ts";
import type { Observation } from "../observe/observation.ts";

/** An accepted PATCH after a list: over once the list shows it, and else remembered with the lists without it. */
export function patchedAfter(patched: Patched, o: Observation): Patched | undefined {
  const { compute, links, operations, startedAt, laidOver, operationsEndedAt } = o;
  const isOutdated =
    patched.generation !== generationOf(compute) ||
    patched.branchID !== branchIDOf(compute) ||
    (patched.entry ?? "") !== entryOf(o);
  if (isOutdated || links.link === undefined) return undefined;
  // While the change is being applied, a list without it proves nothing.
  const { endpoint } = links.link;
  if (laidOver === true || endpoint.pending_state !== undefined || operations.some(isInProgress)) return patched;
  const { differences } = compare(desiredSpec(compute), endpoint);
  if (!differences.some(({ field }) => patched.fields.includes(field))) return undefined;
  if (startedAt <= (operationsEndedAt ?? -1) || patched.listsWithout.includes(startedAt)) return patched;
  return { ...patched, listsWithout: [...patched.listsWithout.slice(0, 1), startedAt] };
}
