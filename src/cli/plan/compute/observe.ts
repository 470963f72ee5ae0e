import { linksOf } from "../../../operator/claims/adopt-target.ts";
import { annotationsOf, rotationRequest } from "../../../operator/compute/observe/annotations.ts";
import { notListedIn } from "../../../operator/compute/observe/endpoint-snapshot.ts";
import { asOf, momentOf } from "../../../operator/compute/observe/moment.ts";
import type { Observed, Siblings } from "../../../operator/compute/observe/observation.ts";
import { siblingsOf } from "../../../operator/compute/observe/siblings.ts";
import type { PasswordRecord } from "../../../operator/connection-secret/rotation.ts";
import { conditionOf } from "../../../operator/objects/conditions-of.ts";
import { allowsProject } from "../../../operator/resources/cluster-service-connection.ts";
import type { Compute } from "../../../operator/resources/compute.ts";
import { fleetOfLinked } from "../identity.ts";
import type { Inventory } from "../inventory.ts";
import { projectNotAllowed } from "../messages.ts";
import type { TrackedCompute } from "../tracked.ts";
import { namedFor } from "./named-branch.ts";

/** The observation that a Compute is planned from. */
export function observe(tracked: TrackedCompute, inventory: Inventory): Observed {
  const { object, project, before } = tracked;
  const { clock, createSettleMs, scope } = inventory.options;
  const { fleet } = scope;
  const { id, connection, listing, operations, client, time } = project;
  const serviceNow = time.now();
  const compute = asOf(object, serviceNow);
  const annotations = annotationsOf(compute, clock.now());
  const claimants = inventory.claimantsOf(compute);
  const moment = momentOf(object, connection?.spec.disruption, serviceNow);
  const record = recordShown(compute, before);
  const subject = {
    compute,
    annotations,
    claimants,
    now: clock.monotonic(),
    serviceNow,
    moment,
    secret: record && { record, mayCut: moment?.closed === undefined },
    createSettleMs,
    fleet,
    siblings: scope.writes ? siblingsIn(inventory, tracked) : undefined,
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

/**
 * The other members of the pool: `apply` changes as many of them as may be without connections. Without a cluster there
 * is no status: a member without one counts as ready.
 */
function siblingsIn({ tracked: { Compute: all } }: Inventory, { object, pool }: TrackedCompute): Siblings | undefined {
  const members = all.filter((one) => one.pool === pool);
  const memoryOf = new Map(members.map(({ object: { metadata }, memory }) => [metadata.uid, memory]));
  return siblingsOf(object, {
    pool: () => pool,
    membersOf: () => members.map((member) => member.object),
    known: (uid) => memoryOf.get(uid)?.known,
    termSince: Number.NEGATIVE_INFINITY,
    isReady: ({ status }) => conditionOf(status, "Ready")?.status !== "False",
  });
}

/**
 * The password of a running Compute, as its status shows it. Which request was carried out only the Secret says: the
 * one that the cluster has counts as such, and another one of the manifest is new.
 */
function recordShown(compute: Compute, before = compute): PasswordRecord | undefined {
  const { role, rotatedAt } = compute.status.connectionSecret ?? {};
  if (role === undefined || rotatedAt === undefined) return undefined;
  return { role, rotatedAt: Date.parse(rotatedAt), handled: rotationRequest(before) };
}
