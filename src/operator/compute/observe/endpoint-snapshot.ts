import { hasUnreadableName } from "../../../api/endpoint.ts";
import type { EndpointLister } from "../../connection/endpoint-lister.ts";
import type { Listing } from "../../connection/listing.ts";
import type { ConnectionView } from "../../connection/registry.ts";
import { memoize } from "../../runtime/memoize.ts";
import { annotation, type PendingCreate, recordedID } from "./annotations.ts";
import type { Claimants } from "./claims.ts";
import type { EndpointSnapshot, Subject } from "./observation.ts";
import { createdProof, EndpointIndex, ownershipOf } from "./ownership.ts";

/** One index per list, however many Computes look into it. */
export const indexOf = memoize(({ endpoints }: Listing) => new EndpointIndex(endpoints));

/** What a list says of one Compute. */
export function snapshotFor(
  { compute, annotations, claimants }: Subject,
  listing: Listing,
  { session, terminating }: Extract<ConnectionView, { kind: "open" }>,
  { operations }: EndpointLister,
): EndpointSnapshot {
  const { fingerprint, showsNames } = session;
  const endpoints = indexOf(listing);
  const links = ownershipOf(compute, endpoints);
  return {
    endpoints,
    startedAt: listing.startedAt,
    links,
    operations: links.link === undefined ? [] : operations.of(links.link.endpoint.id),
    notListed: links.missing === undefined ? { missing: 0, known: 0 } : notListedIn(endpoints, claimants),
    markers: showsNames ? "shown" : markersIn(annotations.pendingCreate, endpoints, claimants, fingerprint),
    fingerprint,
    terminating,
  };
}

/** How many of the endpoints that the project's Computes are linked to a list lacks. */
export function notListedIn(endpoints: EndpointIndex, claimants: Claimants): EndpointSnapshot["notListed"] {
  const known = claimants
    .inProject()
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .flatMap((compute) => recordedID(compute) ?? []);
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
