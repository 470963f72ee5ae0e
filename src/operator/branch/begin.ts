import { begun } from "../life/begin.ts";
import { absenceAfter } from "../life/gone.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { Branch } from "../resources/branch.ts";
import type { BranchMemory } from "./memory.ts";
import { annotationOf, type Observation } from "./observation.ts";
import { noteRecords, noteVersion } from "./record.ts";

/** Begins a reconcile. Resets and deletions are judged by a list that is newer than the request, too. */
export function begin(memory: BranchMemory, object: Branch, now: number): void {
  noteVersion(memory, object, now);
  const requests = [annotationOf(object, "reconcileRequestedAt"), annotationOf(object, "resetAt")];
  const asks = JSON.stringify([...requests, isBeingDeleted(object)]);
  // The first list comes after what was requested before.
  Object.assign(memory, begun({ ...memory, asked: memory.asked ?? asks }, { asks }, now));
}

/** Takes in a list: since when a branch is missing, and what became of the writes that have a record. */
export function noteList(memory: BranchMemory, o: Observation): void {
  const { listing, missing } = o;
  // A branch that went makes room, where a limit was in the way.
  if (memory.failed?.reason === "Rejected" && listing.size < memory.failed.branches) memory.failed = undefined;
  memory.branches = listing.size;
  memory.missing = absenceAfter(memory.missing, missing, listing.startedAt);
  noteRecords(memory, o);
}
