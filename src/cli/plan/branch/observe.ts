import type { ListedBranch } from "../../../api/branch.ts";
import { BranchListing } from "../../../api/branch-listing.ts";
import {
  findLinkedAt,
  linkedID,
  type Observation,
  type Subject,
  type Unobserved,
} from "../../../operator/branch/observation.ts";
import { isOutsider, targetID } from "../../../operator/branch/plan/claims.ts";
import { doing, meaningOf } from "../../../operator/branch/words.ts";
import { endpointNamedBy, ownershipOf } from "../../../operator/claims/ownership.ts";
import { isBeingDeleted, placeOf } from "../../../operator/objects/object.ts";
import { type Branch, branchNameOf, owningBranch } from "../../../operator/resources/branch.ts";
import { allowsProject } from "../../../operator/resources/cluster-service-connection.ts";
import { type Compute, namesBranch } from "../../../operator/resources/compute.ts";
import { isObserved } from "../../../operator/resources/management-policy.ts";
import { isDerivedUID } from "../../manifests/derived-uid.ts";
import type { Inventory } from "../inventory.ts";
import { projectNotAllowed, saidOnce } from "../messages.ts";
import { type Leaving, nothingLeaves, type TrackedBranch } from "../tracked.ts";
import { withAssumedEnd } from "./assumed-end.ts";

/** The observation that a Branch is planned from. */
export function observe(tracked: TrackedBranch, inventory: Inventory, leaving: Leaving): Observation | Unobserved {
  const { scope } = inventory.options;
  const { project } = tracked;
  const { connection, id } = project;
  const subject = subjectOf(tracked, inventory, leaving);
  const unobserved = (reason: "ConnectionNotReady" | ReturnType<typeof meaningOf>["reason"], message: string) =>
    ({ ...subject, kind: "unobserved", why: { kind: "shown", reason, message } }) as const;
  if (connection !== undefined && !allowsProject(connection, id)) {
    return unobserved("ConnectionNotReady", projectNotAllowed(connection, id));
  }
  const { branches } = project;
  const listing = listingWithout(tracked, leaving);
  if (branches !== undefined && branches.kind !== "ok") {
    const meaning = meaningOf(branches, doing.list(id));
    return unobserved(meaning.reason, saidOnce(meaning, project.client.account.baseURL, "manifests"));
  }
  if (listing === undefined) return { ...subject, kind: "unobserved", why: { kind: "pending" } };
  const serviceNow = project.time.now();
  const { fingerprint } = project.client;
  const linked = findLinkedAt(fingerprint, tracked.object, listing, scope.fleetName);
  if (!scope.cluster && linked !== undefined && tracked.object.status.branchID === undefined) {
    tracked.object = withAssumedEnd(tracked.object, linked, serviceNow);
    tracked.endIsAssumed = true;
  }
  const { object } = tracked;
  const known = linkedID(object);
  const isMissing = linked === undefined && known !== undefined && listing.byID(known) === undefined;
  const missing = isMissing ? known : undefined;
  return {
    ...subject,
    object,
    kind: "observed",
    listing,
    serviceNow,
    fingerprint,
    linked,
    resetting: undefined,
    missing,
  };
}

function subjectOf(tracked: TrackedBranch, inventory: Inventory, leaving: Leaving): Subject {
  const { computes } = inventory;
  const { clock, createSettleMs, scope } = inventory.options;
  const { object, project } = tracked;
  const { metadata, spec } = object;
  const { baseURL } = project.client.account;
  const others = inventory.tracked.Branch.filter(
    (other) => other !== tracked && other.project.client.account.baseURL === baseURL,
  );
  const elsewhere = inventory.otherBranches.filter((other) => other.baseURL === baseURL);
  const reach = { baseURLOf: () => baseURL, isUnreachable: () => false, reachedThrough: () => undefined };
  const rivals = [...others, ...elsewhere.filter((other) => !isOutsider(other.object, object, reach))];
  const own = computes.find((compute) => placeOf(compute.metadata) === placeOf(metadata));
  const isTaken = spec.compute !== undefined && own !== undefined && !isOwnedBy(own, object);
  return {
    object,
    now: clock.monotonic(),
    createSettleMs,
    fleet: scope.fleetName,
    others: rivals
      .map((other) => other.object)
      .filter((other) => other.spec.projectID === spec.projectID && !isObserved(other)),
    lives: (uid) => [...others, ...elsewhere].some((other) => other.object.metadata.uid === uid),
    usedBy: computes
      .filter((compute) => uses(compute, object) || staysOn(compute, tracked, leaving))
      .map((compute) => compute.metadata.name),
    // The owned Compute is planned as a Compute of its own.
    compute: { step: undefined, isTaken },
  };
}

/** True if a Branch is declared, or in the cluster, that has this place, or has or adopts the branch. */
export function isClaimed(place: string, listed: ListedBranch, projectID: string, inventory: Inventory): boolean {
  const objects = [...inventory.tracked.Branch, ...inventory.otherBranches].map(({ object }) => object);
  return objects.some((object) => {
    if (placeOf(object.metadata) === place) return true;
    if (object.spec.projectID !== projectID) return false;
    return targetID(object) === listed.id || (adoptsByName(object) && branchNameOf(object) === listed.name);
  });
}

function adoptsByName({ spec: { adopt } }: Branch): boolean {
  return adopt !== undefined && !("branchID" in adopt);
}

/** True if the Compute is the one that the Branch declares: outside of a cluster its owner has a derived uid. */
export function isOwnedBy(compute: Compute, { metadata }: Branch): boolean {
  const owner = owningBranch(compute);
  if (owner === undefined || compute.metadata.namespace !== metadata.namespace) return false;
  return owner.uid === metadata.uid || (owner.name === metadata.name && isDerivedUID(owner.uid));
}

/** True while a branch that is pruned has children, or endpoints of Computes that stay. */
export function isOccupied(tracked: TrackedBranch, { computes }: Inventory): boolean {
  const { object, project, pruned } = tracked;
  if (pruned === undefined) return false;
  const children = project.branchListing?.childrenOf(object.status.branchID ?? "") ?? [];
  return children.length > 0 || computes.some((compute) => staysOn(compute, tracked, nothingLeaves));
}

/** The project's branches without the children that leave a branch before it is pruned. */
function listingWithout({ object, project, pruned }: TrackedBranch, { branches }: Leaving): BranchListing | undefined {
  const { branchListing: listing } = project;
  if (pruned === undefined || listing === undefined) return listing;
  const ids = new Set(
    [...branches].filter((each) => each.pruned !== undefined).map((each) => each.object.status.branchID),
  );
  const isChild = ({ id, parent_id }: ListedBranch) => ids.has(id) && parent_id === object.status.branchID;
  return new BranchListing(
    [...listing.all].filter((one) => !isChild(one)),
    listing.startedAt,
  );
}

/** True if a Compute that stays has, or is to adopt, an endpoint on a branch that is pruned, and does not leave it. */
function staysOn(compute: Compute, { object, project, pruned }: TrackedBranch, leaving: Leaving): boolean {
  if (pruned === undefined || project.listing?.kind !== "listed") return false;
  const { index } = project.listing;
  const linked = ownershipOf(compute, index).link?.endpoint;
  const endpoint = linked ?? index.byID(endpointNamedBy(compute) ?? "");
  if (endpoint?.branch_id !== object.status.branchID || isBeingDeleted(compute)) return false;
  return linked === undefined || !leaving.computes.has(compute);
}

/** True if deleting the branch would take away a Compute's branch, and the Compute is not the Branch's own. */
function uses(compute: Compute, branch: Branch): boolean {
  const { spec } = compute;
  if (isBeingDeleted(compute) || isOwnedBy(compute, branch)) return false;
  if (namesBranch(compute, branch)) return true;
  if (spec.projectID !== branch.spec.projectID) return false;
  const { branchID } = branch.status;
  return (branchID !== undefined && spec.branchID === branchID) || spec.branchName === branchNameOf(branch);
}
