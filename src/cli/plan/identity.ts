import type { BranchListing } from "../../api/branch-listing.ts";
import { isOfFormerBranch, notedUID } from "../../operator/branch/observation.ts";
import { type EndpointIndex, type Ownership, recordedID } from "../../operator/claims/ownership.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import { type Fleet, keyOf, signatureIn } from "../../operator/resources/signature.ts";
import { derivedBranchUID, isDerivedUID, uidToBe } from "../manifests/derived-uid.ts";
import { withUID } from "../manifests/stored.ts";
import type { CommandScope } from "./scope.ts";
import type { Tracked, TrackedBranch } from "./tracked.ts";

/**
 * A declared object as it is planned. An endpoint or branch that apply made is not the operator's, so plan with a
 * cluster must not take it for the new object's.
 */
export function asPlanned<Object extends Compute | TrackedBranch["object"]>(
  object: Object,
  scope: CommandScope,
): Object {
  const { uid } = object.metadata;
  const isNew = scope.cluster && !scope.writes && isDerivedUID(uid);
  return isNew ? withUID(object, uidToBe(uid)) : object;
}

/** The uid under which the service knows an object. The objects of a cluster that was read have their uids. */
export function knownUID(tracked: Tracked, { cluster, fleet, fleetName }: CommandScope): string {
  const { listing, branchListing } = tracked.project;
  const { uid } = tracked.object.metadata;
  if (!isDerivedUID(uid)) return uid;
  switch (tracked.kind) {
    case "Compute":
      if (listing?.kind !== "listed") return uid;
      return signedUID(tracked.object, listing.index, cluster ? undefined : fleet);
    case "Branch":
      if (branchListing === undefined || cluster || tracked.pruned !== undefined) return uid;
      return notedUIDOf(tracked, branchListing, fleetName);
  }
}

/**
 * In a fleet the operator's signature shows the uid: fleet and key find the endpoint, and it bears the uid of the
 * Compute in the cluster. If several uids bear them, only that cluster shows which of them it has, and the Compute
 * keeps the derived one.
 */
function signedUID(compute: Compute, endpoints: EndpointIndex, fleet: Fleet | undefined): string {
  const { uid } = compute.metadata;
  const linked = recordedID(compute);
  // A link or a record of this command, or of the manifest, is for this uid already.
  if (linked !== undefined || compute.status.pendingWrite !== undefined) return uid;
  const bearing = fleet === undefined ? [] : endpoints.bearing(keyOf(compute), fleet, "same");
  const uids = new Set(bearing.flatMap((endpoint) => signatureIn(endpoint.name)?.uid ?? []));
  const [only = uid] = uids;
  return uids.size === 1 && !isDerivedUID(only) ? only : uid;
}

/**
 * In a fleet the operator's note shows the uid of the Branch in its cluster. Without a fleet it shows nothing: two
 * clusters may have a Branch of this name. What apply made before it was given the fleet is its own.
 */
function notedUIDOf({ object }: TrackedBranch, listing: BranchListing, fleet: string | undefined): string {
  const { uid, namespace = "", name } = object.metadata;
  if (object.status.branchID !== undefined) return uid;
  const all = [...listing.all];
  if (all.some((listed) => notedUID(listed) === uid)) return uid;
  const before = derivedBranchUID(undefined, namespace, name);
  const formers = all.filter((listed) => isOfFormerBranch(listed, object, fleet)).flatMap((one) => notedUID(one) ?? []);
  const [only = uid, another] = new Set(formers);
  const own = all.some((listed) => notedUID(listed) === before) ? before : uid;
  return another === undefined && only !== uid ? only : own;
}

/** The fleet for which a Compute is planned: `apply` leaves what it once signed for another one as it is. */
export function fleetOfLinked({ metadata }: Compute, { link }: Ownership, given: Fleet | undefined): Fleet | undefined {
  const shown = signatureIn(link?.endpoint.name)?.fleet;
  return shown !== undefined && (given === undefined || isDerivedUID(metadata.uid)) ? shown : given;
}
