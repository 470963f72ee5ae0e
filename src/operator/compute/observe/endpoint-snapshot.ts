import { hasUnreadableName } from "../../../api/endpoint.ts";
import type { EndpointLister } from "../../connection/endpoint-lister.ts";
import type { Listing } from "../../connection/listing.ts";
import type { ConnectionView } from "../../connection/registry.ts";
import type { Compute } from "../../resources/compute.ts";
import { annotations } from "../../resources/names.ts";
import { memoize } from "../../runtime/memoize.ts";
import type { Claimants } from "./claims.ts";
import { createdProof, EndpointIndex, ownershipOf, recordedID } from "./ownership.ts";
import { pendingCreateOf } from "./pending-operations.ts";
import type { EndpointSnapshot } from "./plan-input.ts";

/** One index per list, however many Computes look into it. */
export const indexOf = memoize(({ endpoints }: Listing) => new EndpointIndex(endpoints));

/** What a list says of one Compute. */
export function snapshotFor(
  compute: Compute,
  listing: Listing,
  connection: Extract<ConnectionView, { kind: "open" }>,
  watcher: EndpointLister,
  claimants: Claimants,
): EndpointSnapshot {
  const endpoints = indexOf(listing);
  const links = ownershipOf(compute, endpoints);
  return {
    endpoints,
    startedAt: listing.startedAt,
    links,
    operations: links.link === undefined ? [] : watcher.operations.of(links.link.endpoint.id),
    notListed: links.missing === undefined ? { missing: 0, known: 0 } : vanishedFrom(endpoints, claimants),
    markers: connection.session.showsNames
      ? "shown"
      : markersIn(compute, endpoints, claimants, connection.session.fingerprint),
    through: connection.session.fingerprint,
    terminating: connection.terminating,
  };
}

/** How many of the endpoints that the project's Computes are linked to a list lacks. */
export function vanishedFrom(endpoints: EndpointIndex, claimants: Claimants): EndpointSnapshot["notListed"] {
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
  compute: Compute,
  endpoints: EndpointIndex,
  claimants: Claimants,
  through: string,
): EndpointSnapshot["markers"] {
  const mark = pendingCreateOf(compute);
  if (mark?.named === true && mark.through === through) return "shown";
  if (endpoints.all.some(({ name }) => name !== undefined)) return "shown";
  const noted = claimants.inProject().some(({ metadata }) => {
    const id = metadata.annotations?.[annotations.endpointID] ?? "";
    const made = metadata.annotations?.[annotations.createdEndpoint] === createdProof(metadata.uid, id);
    const endpoint = endpoints.byID(id);
    return made && endpoint !== undefined && endpoint.name === undefined && !hasUnreadableName(endpoint);
  });
  return noted ? "hidden" : "unknown";
}
