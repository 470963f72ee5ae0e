import type { EndpointLister } from "../../connection/endpoint-lister.ts";
import type { Listing } from "../../connection/listing.ts";
import type { Priority } from "../../service-client/priority-queue.ts";
import { answersCountAfter, type ReadonlyState } from "../remembered.ts";
import { indexOf } from "./endpoint-snapshot.ts";
import { isBeingDeleted, type Subject } from "./observation.ts";
import { ownershipOf } from "./ownership.ts";

export interface ListingNeed {
  subject: Subject;
  state: ReadonlyState;
  lister: EndpointLister;
  /** The service is known to show the names of endpoints. */
  showsNames: boolean;
  priority: Priority;
}

/**
 * The list that a plan may be made on. Deletions, losses, second creates and restarts need one whose request began
 * after the last write to the Compute ended, and a restart also after its operations did. For anything else the
 * answer to that write, laid over an older list, is enough. The first create of a Compute takes the latest list as it
 * is: nothing was written yet, and what came into being since that list is refused by the service. Without such a
 * list one is planned, and the Compute is enqueued when it is there.
 */
export function listingFor(need: ListingNeed): Listing | undefined {
  const { subject, state, lister, priority } = need;
  const { observed } = lister;
  if (observed !== undefined && isEnough(observed, need)) return observed;
  // A write for another Compute with the same link counts too, as for the one of which this is a copy.
  const { recordedID = "" } = subject.annotations;
  const ended = isRestartAsked(subject) ? lister.operations.endedAt(recordedID) : undefined;
  const after = Math.max(state.listsCountAfter, lister.writtenAt(recordedID), ended ?? Number.NEGATIVE_INFINITY);
  return lister.listedAfter(after, subject.compute.metadata.uid, priority);
}

/** Whether no list from after the last write is needed. */
function isEnough(observed: Listing, need: ListingNeed): boolean {
  const { subject, state, lister } = need;
  const isPending = subject.annotations.pendingCreate !== undefined || state.pendingCreate !== undefined;
  if (isBeingDeleted(subject.compute) || isPending || isRestartAsked(subject)) return false;
  const { link, missing, duplicates, replacements } = ownershipOf(subject.compute, indexOf(observed));
  if (missing !== undefined || duplicates.length > 0 || replacements.length > 0) return false;
  if (link === undefined) return isEnoughForCreate(observed, need);
  const { id } = link.endpoint;
  const showsWrite = lister.writtenAt(id) < observed.startedAt || lister.isLaidOver(id);
  return showsWrite && observed.startedAt > answersCountAfter(state);
}

function isEnoughForCreate(observed: Listing, { subject, state, showsNames }: ListingNeed): boolean {
  const { compute, annotations } = subject;
  const { adopt, type, branchID } = compute.spec;
  const isNew = annotations.recordedID === undefined && state.listsCountAfter <= state.seenSince;
  const isFree = type === "read_only" || indexOf(observed).primariesOf(branchID).length === 0;
  return isNew && isFree && adopt === undefined && showsNames && observed.startedAt > state.firstListAfter;
}

function isRestartAsked({ compute, annotations }: Subject): boolean {
  const { restartedAt, pendingRestart } = annotations;
  return pendingRestart !== undefined || (restartedAt !== undefined && restartedAt !== compute.status.restartedAt);
}
