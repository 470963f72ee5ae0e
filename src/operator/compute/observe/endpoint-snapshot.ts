import { hasUnreadableName } from "../../../api/endpoint.ts";
import type { EndpointLister } from "../../connection/endpoint-lister.ts";
import type { Listing } from "../../connection/listing.ts";
import type { ConnectionView } from "../../connection/registry.ts";
import { memoize } from "../../runtime/memoize.ts";
import { annotation, type PendingCreate, recordedID } from "./annotations.ts";
import type { Claimants } from "./claims.ts";
import type { EndpointSnapshot, Subject } from "./observation.ts";
import { createdProof, EndpointIndex, type Ownership, ownershipOf } from "./ownership.ts";

/** One index per list, however many Computes look into it. */
export const indexOf = memoize(({ endpoints }: Listing) => new EndpointIndex(endpoints));

/** What a list says of one Compute. */
export function snapshotFor(
  { compute, annotations, claimants }: Subject,
  listing: Listing,
  { session, terminating }: Extract<ConnectionView, { kind: "open" }>,
  lister: EndpointLister,
): EndpointSnapshot {
  const { fingerprint, showsNames } = session;
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
    markers: showsNames ? "shown" : markersIn(annotations.pendingCreate, endpoints, claimants, fingerprint),
    fingerprint,
    terminating,
  };
}

/** What is known of the linked endpoint besides what lists show. */
function besidesLists(
  { link }: Ownership,
  lister: EndpointLister,
): Pick<EndpointSnapshot, "operations" | "operationsEndedAt" | "laidOver"> {
  if (link === undefined) return { operations: [] };
  const { id } = link.endpoint;
  const operationsEndedAt = lister.operations.endedAt(id);
  return {
    operations: lister.operations.of(id),
    ...(operationsEndedAt === undefined ? {} : { operationsEndedAt }),
    ...(lister.isLaidOver(id) ? { laidOver: true } : {}),
  };
}

/**
 * How many of the endpoints that the project's Computes are linked to a list lacks. An endpoint that no list has shown
 * yet is not missed.
 */
export function notListedIn(
  endpoints: EndpointIndex,
  claimants: Claimants,
  isUnlisted: (endpointID: string) => boolean = () => false,
): EndpointSnapshot["notListed"] {
  const known = claimants
    .inProject()
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .flatMap((compute) => recordedID(compute) ?? [])
    .filter((id) => !isUnlisted(id));
  return { missing: known.filter((id) => endpoints.byID(id) === undefined).length, known: known.length };
}

/**
 * A list with any name shows names, and so did the service where the mark of the create says so; a list with an
 * endpoint noted as made by a Compute, but without a name, does not.
 */
export function markersIn(
  mark: PendingCreate | undefined,
  endpoints: EndpointIndex,
  claimants: Claimants,
  fingerprint: string,
): EndpointSnapshot["markers"] {
  if (mark?.named === true && mark.through === fingerprint) return "shown";
  if (endpoints.all.some(({ name }) => name !== undefined)) return "shown";
  const noted = claimants.inProject().some((compute) => {
    const id = annotation(compute, "endpointID") ?? "";
    const isCreated = annotation(compute, "createdEndpoint") === createdProof(compute.metadata.uid, id);
    const endpoint = endpoints.byID(id);
    return isCreated && endpoint !== undefined && endpoint.name === undefined && !hasUnreadableName(endpoint);
  });
  return noted ? "hidden" : "unknown";
}
