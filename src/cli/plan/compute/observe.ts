import { linksOf } from "../../../operator/claims/adopt-target.ts";
import { annotationsOf } from "../../../operator/compute/observe/annotations.ts";
import { notListedIn } from "../../../operator/compute/observe/endpoint-snapshot.ts";
import { asOf, momentOf } from "../../../operator/compute/observe/moment.ts";
import type { Observed } from "../../../operator/compute/observe/observation.ts";
import { allowsProject } from "../../../operator/resources/cluster-service-connection.ts";
import { fleetOfLinked } from "../identity.ts";
import type { Inventory } from "../inventory.ts";
import { projectNotAllowed } from "../messages.ts";
import type { TrackedCompute } from "../tracked.ts";
import { namedFor } from "./named-branch.ts";

/** The observation that a Compute is planned from. */
export function observe({ object, project }: TrackedCompute, inventory: Inventory): Observed {
  const { clock, createSettleMs, scope } = inventory.options;
  const { fleet } = scope;
  const { id, connection, listing, operations, client, time } = project;
  const serviceNow = time.now();
  const compute = asOf(object, serviceNow);
  const annotations = annotationsOf(compute, clock.now());
  const claimants = inventory.claimantsOf(compute);
  const subject = {
    compute,
    annotations,
    claimants,
    now: clock.monotonic(),
    serviceNow,
    moment: momentOf(object, connection?.spec.disruption, serviceNow),
    createSettleMs,
    fleet,
  };
  if (connection !== undefined && !allowsProject(connection, id)) {
    const message = projectNotAllowed(connection, id);
    return { ...subject, kind: "unavailable", reason: "ConnectionNotReady", message, projectGone: false };
  }
  if (listing === undefined) return { ...subject, kind: "pending" };
  if (listing.kind === "unavailable") return { ...subject, ...listing };
  const { index, startedAt } = listing;
  const links = linksOf({ compute, endpoints: index, fleet });
  const endpointID = links.link?.endpoint.id;
  const { fingerprint } = client;
  return {
    ...subject,
    fleet: fleetOfLinked(compute, links, fleet),
    kind: "observed",
    endpoints: index,
    startedAt,
    links,
    operations: [...operations.values()].filter(({ endpoint_id }) => endpoint_id === endpointID).toReversed(),
    notListed:
      links.missing === undefined
        ? { missing: 0, known: 0 }
        : notListedIn({ endpoints: index, fingerprint }, claimants),
    fingerprint,
    baseURL: client.account.baseURL,
    terminating: false,
    ...namedFor(compute, project, inventory),
  };
}
