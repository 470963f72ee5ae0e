import { fallenDue } from "../life/due.ts";
import { absenceAfter } from "../life/gone.ts";
import { isBeingDeleted } from "../objects/object.ts";
import type { Branch } from "../resources/branch.ts";
import { annotationOf, type Observation } from "./observation.ts";
import { isSameEnd } from "./plan/expiry.ts";
import type { BranchMemory } from "./state.ts";

/** A reconcile that is due, or that a person requested, needs a list from after that. */
export function begin(memory: BranchMemory, object: Branch, now: number): void {
  const dueAt = fallenDue(memory.requeue, now);
  if (dueAt !== undefined) {
    memory.listsAfter = Math.max(memory.listsAfter, dueAt);
    memory.requeue = { ...memory.requeue, dueAt: undefined };
  }
  const requested = annotationOf(object, "reconcileRequestedAt");
  const asked = JSON.stringify([requested, annotationOf(object, "resetAt"), isBeingDeleted(object)]);
  if (memory.asked === asked) return;
  // Resets and deletions are judged by a list that is newer than the wish.
  if (memory.asked !== undefined) memory.listsAfter = now;
  if (requested !== object.status.lastHandledReconcileAt) memory.failed = undefined;
  memory.asked = asked;
}

/** Takes in a list: since when a branch is missing, and since when an end is not shown. */
export function noteList(memory: BranchMemory, { listing, missing, linked }: Observation): void {
  // A branch that went makes room, where a limit was in the way.
  if (memory.failed?.reason === "Rejected" && listing.size < memory.failed.branches) memory.failed = undefined;
  memory.branches = listing.size;
  memory.missing = absenceAfter(memory.missing, missing, listing.startedAt);
  const { unseenEnd } = memory;
  if (unseenEnd === undefined || linked === undefined || isSameEnd(unseenEnd.at, linked.listed.expires_at)) return;
  unseenEnd.differsSince ??= listing.startedAt;
}
