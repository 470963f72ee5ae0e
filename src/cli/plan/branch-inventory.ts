import type { ListedBranch } from "../../api/branch.ts";
import { BranchListing } from "../../api/branch-listing.ts";
import {
  isFormers,
  linkedID,
  linkedThrough,
  notedUID,
  type Observation,
  type Subject,
  type Unobserved,
} from "../../operator/branch/observation.ts";
import { isOutsider, targetID } from "../../operator/branch/plan/claims.ts";
import { type BranchMemory, newMemory } from "../../operator/branch/state.ts";
import { doing, meaningOf } from "../../operator/branch/words.ts";
import { endpointNamedBy, ownershipOf } from "../../operator/claims/ownership.ts";
import { referredBranch } from "../../operator/compute/observe/branch-ref.ts";
import type { ReferredBranch } from "../../operator/compute/observe/observation.ts";
import { placeOf } from "../../operator/objects/object.ts";
import { type Branch, branchNameOf, owningBranch } from "../../operator/resources/branch.ts";
import { allowsProject } from "../../operator/resources/cluster-service-connection.ts";
import { type Compute, givenName } from "../../operator/resources/compute.ts";
import { noteKeys } from "../../operator/resources/names.ts";
import { derivedBranchUID, isDerivedUID, uidToBe } from "../manifests/derived-uid.ts";
import { withAssumedEnd } from "./assumed-end.ts";
import type { InventoryOptions, Project } from "./inventory.ts";
import { branchUnknown, projectNotAllowed, saidOnce } from "./messages.ts";

/** A Branch and what this command remembers of it: the Branch as it would be stored in a cluster by now. */
export interface TrackedBranch {
  object: Branch;
  readonly memory: BranchMemory;
  readonly project: Project;
  /** No status says which end was applied last: it is concluded from what the service shows. */
  endIsAssumed?: true;
  /** Reason why `apply --prune-branches` deletes it. */
  pruned?: string;
}

/**
 * Objects that may still leave a branch that is pruned: Computes by a move, Branches by their deletion. The branch is
 * planned as it will be without them, and deleted once they have left it.
 */
export interface Leaving {
  computes: ReadonlySet<Compute>;
  branches: ReadonlySet<TrackedBranch>;
}

const none: Leaving = { computes: new Set(), branches: new Set() };

/** A Branch that is not planned, and the base URL that it reaches its project through. */
interface OtherBranch {
  object: Branch;
  baseURL: string | undefined;
}

/** The Branches of manifests and cluster, over the branches that each project lists. */
export class BranchInventory {
  readonly #options: InventoryOptions;
  readonly #tracked: TrackedBranch[] = [];
  readonly #others: OtherBranch[] = [];

  constructor(options: InventoryOptions) {
    this.#options = options;
  }

  get all(): readonly TrackedBranch[] {
    return this.#tracked;
  }

  /** True if a Branch is declared, or in the cluster, that has this place, or has or adopts the branch. */
  has(place: string, listed: ListedBranch, projectID: string): boolean {
    const objects = [...this.#tracked, ...this.#others].map(({ object }) => object);
    return objects.some((object) => {
      if (placeOf(object.metadata) === place) return true;
      if (object.spec.projectID !== projectID) return false;
      return targetID(object) === listed.id || (adoptsByName(object) && branchNameOf(object) === listed.name);
    });
  }

  track(declared: Branch, project: Project): TrackedBranch {
    const { clock, scope } = this.#options;
    const { metadata } = declared;
    // A branch that apply made is not the operator's, so plan with a cluster must not take it for the new Branch's.
    const isNew = scope.cluster && !scope.writes && isDerivedUID(metadata.uid);
    const object = isNew ? { ...declared, metadata: { ...metadata, uid: uidToBe(metadata.uid) } } : declared;
    const tracked = { object, memory: newMemory(clock.monotonic(), 0, false), project };
    this.#tracked.push(tracked);
    return tracked;
  }

  /** A Branch that is not planned, and claims what it is linked to. */
  claim(object: Branch, baseURL: string | undefined): void {
    this.#others.push({ object, baseURL });
  }

  /** True if the branches of a project have to be listed. */
  needs(project: Project): boolean {
    return this.#tracked.some((tracked) => tracked.project === project);
  }

  /** A newer list of the project came: without a cluster it shows under which uid the service knows each Branch. */
  listed(project: Project): void {
    const { branchListing: listing } = project;
    if (listing === undefined || this.#options.scope.cluster) return;
    for (const tracked of this.#tracked) {
      if (tracked.project === project) this.#identify(tracked, listing);
    }
  }

  /**
   * In a fleet the operator's note shows the uid of the Branch in its cluster. Without a fleet it shows nothing: two
   * clusters may have a Branch of this name. What apply made before it was given the fleet is its own.
   */
  #identify(tracked: TrackedBranch, listing: BranchListing): void {
    const { object } = tracked;
    const { uid, namespace = "", name } = object.metadata;
    if (!isDerivedUID(uid) || object.status.branchID !== undefined || tracked.pruned !== undefined) return;
    const { fleetName: fleet } = this.#options.scope;
    const all = [...listing.all];
    if (all.some((listed) => notedUID(listed) === uid)) return;
    const before = derivedBranchUID(undefined, namespace, name);
    const formers = all.filter((listed) => isFormers(listed, object, fleet)).flatMap((one) => notedUID(one) ?? []);
    const [only = uid, another] = new Set(formers);
    const own = all.some((listed) => notedUID(listed) === before) ? before : uid;
    const known = another === undefined && only !== uid ? only : own;
    if (known !== uid) tracked.object = { ...object, metadata: { ...object.metadata, uid: known } };
  }

  /** The observation that a Branch is planned from. */
  observe(tracked: TrackedBranch, computes: readonly Compute[], leaving = none): Observation | Unobserved {
    const { clock, scope } = this.#options;
    const { project } = tracked;
    const { connection, id } = project;
    const subject = this.#subjectOf(tracked, computes, leaving);
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
    const serviceNow = clock.now();
    const { through: fingerprint } = project.client;
    const linked = linkedThrough(fingerprint, tracked.object, listing);
    if (!scope.cluster && linked !== undefined && tracked.object.status.branchID === undefined) {
      tracked.object = withAssumedEnd(tracked.object, linked, serviceNow);
      tracked.endIsAssumed = true;
    }
    const { object } = tracked;
    const known = linkedID(object);
    const missing = known !== undefined && listing.byID(known) === undefined ? known : undefined;
    return { ...subject, object, kind: "observed", listing, serviceNow, fingerprint, linked, missing };
  }

  #subjectOf(tracked: TrackedBranch, computes: readonly Compute[], leaving: Leaving): Subject {
    const { clock, createSettleMs, scope } = this.#options;
    const { object, project } = tracked;
    const { metadata, spec } = object;
    const { baseURL } = project.client.account;
    const others = this.#tracked.filter(
      (other) => other !== tracked && other.project.client.account.baseURL === baseURL,
    );
    const elsewhere = this.#others.filter((other) => other.baseURL === baseURL);
    const reach = { baseURLOf: () => baseURL, isUnreachable: () => false, reachedThrough: () => undefined };
    const rivals = [...others, ...elsewhere.filter((other) => !isOutsider(other.object, object, reach))];
    const own = computes.find((compute) => placeOf(compute.metadata) === placeOf(metadata));
    const isTaken = spec.compute !== undefined && own !== undefined && !isOwnedBy(own, object);
    return {
      object,
      now: clock.monotonic(),
      createSettleMs,
      fleet: scope.fleetName,
      others: rivals.map((other) => other.object).filter((other) => other.spec.projectID === spec.projectID),
      lives: (uid) => [...others, ...elsewhere].some((other) => other.object.metadata.uid === uid),
      usedBy: computes
        .filter((compute) => uses(compute, object) || staysOn(compute, tracked, leaving))
        .map((compute) => compute.metadata.name),
      // The owned Compute is planned as a Compute of its own.
      compute: { step: undefined, isTaken },
    };
  }

  /** The Branch that a Compute's `branchRef` names. */
  named(compute: Compute): TrackedBranch | undefined {
    const { namespace } = compute.metadata;
    const { branchRef } = compute.spec;
    return this.#tracked.find(
      ({ object: { metadata }, pruned }) =>
        pruned === undefined && metadata.name === branchRef?.name && metadata.namespace === namespace,
    );
  }

  /** The branch that a Compute's `branchRef` comes to; `undefined`: it has none. */
  referredBy(compute: Compute): ReferredBranch | undefined {
    const { namespace } = compute.metadata;
    const { branchRef } = compute.spec;
    const other = this.#others.find(
      ({ object: { metadata } }) => metadata.name === branchRef?.name && metadata.namespace === namespace,
    );
    const branch = this.named(compute)?.object ?? other?.object;
    const isKnown = branch !== undefined || this.#options.scope.cluster;
    return isKnown ? referredBranch(compute, branch) : unknownBranch(compute);
  }
}

/** Of a Compute that is planned without a cluster. */
function unknownBranch({ spec }: Compute): ReferredBranch | undefined {
  const name = spec.branchRef === undefined ? undefined : givenName(spec);
  return name === undefined ? undefined : { kind: "unusable", reason: "BranchNotReady", message: branchUnknown(name) };
}

/** The object of the Branch that a note says made a branch, as `namespace/name`. */
export function notedPlace(note: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const place = note?.[noteKeys.object];
  return typeof place === "string" ? place : undefined;
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
export function isOccupied(tracked: TrackedBranch, computes: readonly Compute[]): boolean {
  const { object, project, pruned } = tracked;
  if (pruned === undefined) return false;
  const children = project.branchListing?.childrenOf(object.status.branchID ?? "") ?? [];
  return children.length > 0 || computes.some((compute) => staysOn(compute, tracked, none));
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
  if (endpoint?.branch_id !== object.status.branchID || compute.metadata.deletionTimestamp !== undefined) return false;
  return linked === undefined || !leaving.computes.has(compute);
}

/** True if deleting the branch would take away a Compute's branch, and the Compute is not the Branch's own. */
function uses(compute: Compute, branch: Branch): boolean {
  const { metadata, spec } = compute;
  if (metadata.deletionTimestamp !== undefined || isOwnedBy(compute, branch)) return false;
  const isNamed = spec.branchRef?.name === branch.metadata.name && metadata.namespace === branch.metadata.namespace;
  if (isNamed) return true;
  if (spec.projectID !== branch.spec.projectID) return false;
  const { branchID } = branch.status;
  return (branchID !== undefined && spec.branchID === branchID) || spec.branchName === branchNameOf(branch);
}
