import { hasUnreadableName } from "../../../api/endpoint.ts";
import type { ConnectionView } from "../../connection/connections.ts";
import type { Listing } from "../../connection/listing.ts";
import type { ProjectWatcher } from "../../connection/project-watcher.ts";
import type { Compute } from "../../resources/compute.ts";
import { annotations } from "../../resources/names.ts";
import { remembered } from "../../runtime/remembered.ts";
import type { Rivals } from "./claims.ts";
import { createdProof, EndpointIndex, linksOf, recordedID } from "./link.ts";
import type { List } from "./view.ts";

/** One index per list, however many Computes look into it. */
export const indexOf = remembered(({ endpoints }: Listing) => new EndpointIndex(endpoints));

/** What a list says of one Compute. */
export function listFor(
  compute: Compute,
  listing: Listing,
  connection: Extract<ConnectionView, { kind: "open" }>,
  watcher: ProjectWatcher,
  rivals: Rivals,
): List {
  const endpoints = indexOf(listing);
  const links = linksOf(compute, endpoints);
  return {
    endpoints,
    startedAt: listing.startedAt,
    links,
    operations: links.link === undefined ? [] : watcher.operations.of(links.link.endpoint.id),
    vanished: links.missing === undefined ? { missing: 0, known: 0 } : vanishedFrom(endpoints, rivals),
    markers: connection.session.showsNames ? "shown" : markersIn(endpoints, rivals),
    through: connection.session.through,
    terminating: connection.terminating,
  };
}

/** How many of the endpoints that the project's Computes are linked to a list lacks. */
export function vanishedFrom(endpoints: EndpointIndex, rivals: Rivals): List["vanished"] {
  const known = rivals
    .inProject()
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .flatMap((compute) => recordedID(compute) ?? []);
  return { missing: known.filter((id) => endpoints.byID(id) === undefined).length, known: known.length };
}

/**
 * A list with any name shows names; one with an endpoint noted as made by a Compute, but without, does not.
 */
export function markersIn(endpoints: EndpointIndex, rivals: Rivals): List["markers"] {
  if (endpoints.all.some(({ name }) => name !== undefined)) return "shown";
  const noted = rivals.inProject().some(({ metadata }) => {
    const id = metadata.annotations?.[annotations.endpointID] ?? "";
    const made = metadata.annotations?.[annotations.createdEndpoint] === createdProof(metadata.uid, id);
    const endpoint = endpoints.byID(id);
    return made && endpoint !== undefined && endpoint.name === undefined && !hasUnreadableName(endpoint);
  });
  return noted ? "hidden" : "unknown";
}
