import type { EndpointLister } from "../../connection/endpoint-lister.ts";
import type { Listing } from "../../connection/list-changes.ts";
import type { ConnectionView } from "../../connection/registry.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { keyOf } from "../../resources/signature.ts";
import { memoize } from "../../runtime/caches.ts";
import type { Priority } from "../../service-client/priority-queue.ts";
import { answersCountAfter, isUnanswered, type ReadonlyState } from "../remembered.ts";
import { recordedID } from "./annotations.ts";
import type { Claimants } from "./claims.ts";
import { type EndpointSnapshot, isBeingDeleted, type Subject } from "./observation.ts";
import { EndpointIndex, type Ownership, ownershipOf } from "./ownership.ts";

/** One index per list, however many Computes look into it. */
export const indexOf = memoize(({ endpoints }: Listing) => new EndpointIndex(endpoints));

/** What a list says of one Compute. */
export function snapshotFor(
  { compute, claimants }: Subject,
  listing: Listing,
  { session, terminating }: Extract<ConnectionView, { kind: "open" }>,
  lister: EndpointLister,
): EndpointSnapshot {
  const { fingerprint, baseURL } = session;
  const endpoints = indexOf(listing);
  const links = ownershipOf(compute, endpoints);
  return {
    endpoints,
    startedAt: listing.startedAt,
    links,
    ...besidesLists(links, lister),
    notListed:
      links.missing === undefined
        ? { missing: 0, known: 0 }
        : notListedIn(endpoints, claimants, (id) => lister.isUnlisted(id)),
    fingerprint,
    baseURL,
    terminating,
  };
}

/** What is known of the linked endpoint besides what lists show. */
function besidesLists(
  { link }: Ownership,
  lister: EndpointLister,
): Pick<EndpointSnapshot, "operations" | "operationsEndedAt" | "busySince" | "laidOver"> {
  if (link === undefined) return { operations: [] };
  const { id } = link.endpoint;
  const operationsEndedAt = lister.operations.followed.endedAt(id);
  const busySince = lister.busySince(id);
  return {
    operations: lister.operations.followed.of(id),
    ...(operationsEndedAt === undefined ? {} : { operationsEndedAt }),
    ...(busySince === undefined ? {} : { busySince }),
    ...(lister.answers.has(id) ? { laidOver: true } : {}),
  };
}

/**
 * How many of the endpoints that the project's Computes are linked to a list lacks. One that no list has shown is not
 * missed: an annotation may be typed, and only the status, which no tenant writes, says what was seen.
 */
export function notListedIn(
  endpoints: EndpointIndex,
  claimants: Claimants,
  isUnlisted: (endpointID: string) => boolean = () => false,
  isBranchGone: (branchID: string) => boolean = () => false,
): EndpointSnapshot["notListed"] {
  const known = claimants
    .inProject()
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter((compute) => recordedID(compute) === compute.status.endpointID)
    .filter(({ status }) => status.branchID === undefined || !isBranchGone(status.branchID))
    .flatMap(({ status }) => status.endpointID ?? [])
    .filter((id) => !isUnlisted(id));
  return { missing: known.filter((id) => endpoints.byID(id) === undefined).length, known: known.length };
}

export interface ListingNeed {
  subject: Subject;
  state: ReadonlyState;
  lister: EndpointLister;
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
  // A write for another Compute counts too, as for the one of which this is a copy, or for one that adopted a former's.
  const linkedID = subject.annotations.recordedID;
  const written = (linkedID === undefined ? formerIDs(subject, observed) : [linkedID]).map((id) =>
    lister.writtenAt(id),
  );
  const ended = isRestartAsked(subject) ? lister.operations.followed.endedAt(linkedID ?? "") : undefined;
  const after = Math.max(state.lists.countAfter, ...written, ended ?? Number.NEGATIVE_INFINITY);
  return lister.listedAfter(after, subject.compute.metadata.uid, priority);
}

/** The endpoints that a Compute without a link may take over. */
function formerIDs({ compute, fleet }: Subject, listing: Listing | undefined): string[] {
  if (fleet === undefined || listing === undefined) return [];
  return indexOf(listing)
    .bearing(keyOf(compute), fleet, "same")
    .map(({ id }) => id);
}

/** Whether no list from after the last write is needed. */
function isEnough(observed: Listing, need: ListingNeed): boolean {
  const { subject, state, lister } = need;
  if (isBeingDeleted(subject.compute) || isUnanswered(state.write) || isRestartAsked(subject)) return false;
  const { link, missing, duplicates, replacements } = ownershipOf(subject.compute, indexOf(observed));
  if (missing !== undefined || duplicates.length > 0 || replacements.length > 0) return false;
  if (link === undefined) return isEnoughForCreate(observed, need);
  const { id } = link.endpoint;
  const showsWrite = lister.writtenAt(id) < observed.startedAt || lister.answers.has(id);
  return showsWrite && observed.startedAt > answersCountAfter(state);
}

function isEnoughForCreate(observed: Listing, { subject, state }: ListingNeed): boolean {
  const { compute, annotations } = subject;
  const { adopt, type } = compute.spec;
  const isNew = annotations.recordedID === undefined && state.lists.countAfter <= state.seenSince;
  const isFree = type === "read_only" || indexOf(observed).primariesOf(branchIDOf(compute)).length === 0;
  return isNew && isFree && adopt === undefined && observed.startedAt > state.lists.firstAfter;
}

function isRestartAsked({ compute, annotations }: Subject): boolean {
  const { restartedAt } = annotations;
  return restartedAt !== undefined && restartedAt !== compute.status.restartedAt;
}
