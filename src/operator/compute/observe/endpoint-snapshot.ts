import type { BranchListing } from "../../../api/branch-listing.ts";
import { linksOf } from "../../claims/adopt-target.ts";
import type { Claimants } from "../../claims/claims.ts";
import { EndpointIndex, type Ownership, ownershipOf, recordedID } from "../../claims/ownership.ts";
import type { ConnectionView } from "../../connection/registry.ts";
import { isBeingDeleted } from "../../objects/object.ts";
import type { EndpointLister } from "../../project/endpoint-lister.ts";
import type { Listing } from "../../project/list-changes.ts";
import { branchIDOf } from "../../resources/compute.ts";
import { areOfOneService } from "../../resources/fingerprint.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { keyOf } from "../../resources/signature.ts";
import { memoize } from "../../runtime/caches.ts";
import type { Priority } from "../../service-client/priority.ts";
import { answersCountAfter, isUnanswered, type ReadonlyState } from "../memory.ts";
import { type EndpointSnapshot, type Subject } from "./observation.ts";

/** One index per list, however many Computes look into it. */
export const indexOf = memoize(({ endpoints }: Listing) => new EndpointIndex(endpoints));

/** The part of a list that concerns one Compute. */
export function snapshotFor(
  { compute, claimants, fleet }: Subject,
  listing: Listing,
  { session, terminating }: Extract<ConnectionView, { kind: "open" }>,
  lister: EndpointLister,
): EndpointSnapshot {
  const { fingerprint, baseURL } = session;
  const endpoints = indexOf(listing);
  const links = linksOf({ compute, endpoints, fleet });
  return {
    endpoints,
    startedAt: listing.startedAt,
    links,
    ...besidesLists(links, lister),
    notListed:
      links.missing === undefined
        ? { missing: 0, known: 0 }
        : notListedBy(undefined, { endpoints, fingerprint }, claimants, lister),
    fingerprint,
    baseURL,
    terminating,
  };
}

/** Knowledge of the linked endpoint besides lists. */
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
 * Number of the endpoints that the project's Computes are linked to and a list lacks. One that no list has shown is not
 * missed: an annotation may be typed, and only the status, which no tenant writes, says what was seen, and at which
 * service: a tenant may run one, and lead its connection elsewhere then.
 */
export function notListedIn(
  { endpoints, fingerprint }: Pick<EndpointSnapshot, "endpoints" | "fingerprint">,
  claimants: Claimants,
  isUnlisted: (endpointID: string) => boolean = () => false,
  isBranchGone: (branchID: string) => boolean = () => false,
): EndpointSnapshot["notListed"] {
  const known = claimants
    .inProject()
    .filter((compute) => !isBeingDeleted(compute) && !isObserved(compute))
    .filter((compute) => recordedID(compute) === compute.status.endpointID)
    .filter(({ status: { observedThrough: seen = "" } }) => areOfOneService(seen, fingerprint))
    .filter(({ status }) => status.branchID === undefined || !isBranchGone(status.branchID))
    .flatMap(({ status }) => status.endpointID ?? [])
    .filter((id) => !isUnlisted(id));
  return { missing: known.filter((id) => endpoints.byID(id) === undefined).length, known: known.length };
}

const counts = memoize<EndpointIndex, Map<BranchListing | undefined, EndpointSnapshot["notListed"]>>(() => new Map());

/**
 * `notListedIn`, counted once for each list, or each of branches beside it, by whose lack endpoints are not missed.
 * Counting them for each Compute would take 4.2 s where 5,000 are missing.
 */
export function notListedBy(
  branches: BranchListing | undefined,
  list: Pick<EndpointSnapshot, "endpoints" | "fingerprint">,
  claimants: Claimants,
  lister: Pick<EndpointLister, "isUnlisted">,
): EndpointSnapshot["notListed"] {
  const known = counts(list.endpoints);
  const isGone = (id: string) => branches !== undefined && branches.byID(id) === undefined;
  const counted = known.get(branches) ?? notListedIn(list, claimants, (id) => lister.isUnlisted(id), isGone);
  // Of branches only the latest list is asked for again.
  if (!known.has(branches)) for (const older of known.keys()) if (older !== undefined) known.delete(older);
  known.set(branches, counted);
  return counted;
}

export interface ListingNeed {
  subject: Subject;
  state: ReadonlyState;
  lister: EndpointLister;
  priority: Priority;
}

/**
 * The list that a plan may be made on, by its purpose: a change needs less of a list than a proof. Without one that is
 * new enough the next is planned, new enough for a proof, and the Compute is enqueued when it is there.
 */
export function listingFor(need: ListingNeed): Listing | undefined {
  const { subject, lister, priority } = need;
  const { observed } = lister;
  if (observed !== undefined && observed.startedAt > enoughFor(observed, need)) return observed;
  return lister.listedAfter(enoughForProof(need), subject.compute.metadata.uid, priority);
}

/** The time after which the request of this list must have begun, so that a plan may be made on it. */
function enoughFor(observed: Listing, need: ListingNeed): number {
  const { subject, state } = need;
  const { restartRequested } = subject.annotations;
  const isAfterCut = restartRequested || state.cutAt !== undefined;
  if (isAfterCut || isBeingDeleted(subject.compute) || isUnanswered(state.write)) return enoughForProof(need);
  const { link, missing, duplicates, replacements } = ownershipOf(subject.compute, indexOf(observed));
  const isProof = missing !== undefined || duplicates.length > 0 || replacements.length > 0;
  const isChange = link !== undefined || isFirstCreate(observed, subject, state);
  return isProof || !isChange ? enoughForProof(need) : enoughForChange(link?.endpoint.id, need);
}

/**
 * A change of the linked endpoint, or the first create: the answer to the last write, laid over an older list, is
 * enough; before a first create nothing was written, and what came into being since is refused by the service.
 */
function enoughForChange(endpointID: string | undefined, { state, lister }: ListingNeed): number {
  if (endpointID === undefined) return state.lists.firstCreateAfter;
  const after = answersCountAfter(state);
  return lister.answers.has(endpointID) ? after : Math.max(after, lister.writtenAt(endpointID));
}

/**
 * A deletion, a loss, a second create or a restart: the list must begin after the last write ended, and for a restart,
 * as for the end of a write that siblings wait for, after the endpoint's operations ended, too.
 */
function enoughForProof({ subject, state, lister }: ListingNeed): number {
  const { recordedID: recorded, restartRequested } = subject.annotations;
  // A write for another Compute counts too: for the original of this copy, or for one that adopted a former's.
  const ids = recorded === undefined ? formerIDs(subject, lister.observed) : [recorded];
  const after = Math.max(state.lists.countAfter, ...ids.map((id) => lister.writtenAt(id)));
  if (!restartRequested && state.cutAt === undefined) return after;
  return Math.max(after, lister.operations.followed.endedAt(recorded ?? "") ?? Number.NEGATIVE_INFINITY);
}

/** True if nothing was ever written for the Compute, and the list shows nothing in the way of its create. */
function isFirstCreate(observed: Listing, { compute, annotations }: Subject, state: ReadonlyState): boolean {
  const { adopt, type } = compute.spec;
  const isNew = annotations.recordedID === undefined && state.lists.countAfter <= state.seenSince;
  const isFree = type === "read_only" || indexOf(observed).primariesOf(branchIDOf(compute)).length === 0;
  return isNew && isFree && adopt === undefined;
}

/** The endpoints that a Compute without a link may take over. */
function formerIDs({ compute, fleet }: Subject, listing: Listing | undefined): string[] {
  if (fleet === undefined || listing === undefined) return [];
  return indexOf(listing)
    .bearing(keyOf(compute), fleet, "same")
    .map(({ id }) => id);
}
