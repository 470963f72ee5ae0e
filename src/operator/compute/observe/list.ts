import type { Endpoint } from "../../../api/endpoint.ts";
import type { ConnectionView } from "../../connection/connections.ts";
import type { Listing, ProjectWatcher } from "../../connection/project-watcher.ts";
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
    markers: markersIn(endpoints, rivals),
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
 * A list with any of our markers shows names; one with an endpoint noted as made by a Compute, but without, does not.
 */
export function markersIn(endpoints: EndpointIndex, rivals: Rivals): List["markers"] {
  if (endpoints.all.some(({ name }) => name?.startsWith("k8s-") === true)) return "shown";
  const noted = rivals.inProject().some(({ metadata }) => {
    const id = metadata.annotations?.[annotations.endpointID] ?? "";
    const made = metadata.annotations?.[annotations.createdEndpoint] === createdProof(metadata.uid, id);
    return made && isNameless(endpoints.byID(id));
  });
  return noted ? "hidden" : "unknown";
}

export function isNameless(endpoint: Endpoint | undefined): boolean {
  return endpoint !== undefined && endpoint.name === undefined;
}
