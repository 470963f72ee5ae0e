import { type Endpoint, hasUnreadableName } from "../../api/endpoint.ts";
import { isBeingDeleted, olderFirst } from "../objects/object.ts";
import { branchIDOf, type Compute } from "../resources/compute.ts";
import { isOfService } from "../resources/fingerprint.ts";
import { isObserved } from "../resources/management-policy.ts";
import { uidInSignature } from "../resources/signature.ts";
import { type EndpointIndex, isOwn, ownershipOf, proofOf } from "./ownership.ts";

/** The Computes that could claim the same endpoints: those of one project of one service, in the whole cluster. */
export interface Claimants {
  byUID(uid: string): Compute | undefined;
  onBranch(branchID: string): readonly Compute[];
  onEndpoint(endpointID: string): readonly Compute[];
  /** The first of those that are linked to an endpoint or may adopt it, by the order of `ranked`. */
  firstOn(endpoint: Endpoint, endpoints: EndpointIndex): Compute | undefined;
  /** All of them, the Compute itself included. */
  inProject(): readonly Compute[];
}

/** True if a Compute never saw an endpoint of its own at the service of this base URL, nor sent for one there. */
export function hadNothingAt(baseURL: string | undefined, { status }: Compute): boolean {
  if (baseURL === undefined) return true;
  const { observedThrough } = status;
  const wasSeen = observedThrough !== undefined && isOfService(observedThrough, baseURL);
  return !wasSeen && sentRecord(status)?.through !== baseURL;
}

/** The record of a request that a term sent; anybody can type the finalizer that another is made up from. */
function sentRecord({ pendingWrite }: Compute["status"]): Compute["status"]["pendingWrite"] {
  return pendingWrite?.by === "unknown" ? undefined : pendingWrite;
}

/** The holder of the branch or endpoint that a Compute wants. */
export type Claim =
  | { kind: "free" }
  /** Another Compute holds it, or comes first, and stays. */
  | { kind: "taken"; by: Compute; isSigned: boolean }
  /** Another Compute holds it and is about to give it up. */
  | { kind: "leaving"; by: Compute }
  /** Two or more want each other's branch: no order of moves is legal. */
  | { kind: "swap"; by: Compute }
  /** An endpoint that no Compute owns is there. */
  | { kind: "unowned"; endpoint: Endpoint };

/**
 * Claim of `self` on this endpoint. First comes the Compute that created it, then one that adopted it, is linked to it
 * or wants it; among equals the older, then the lesser uid.
 */
export function claimOnEndpoint(
  self: Compute,
  endpoint: Endpoint,
  claimants: Claimants,
  endpoints: EndpointIndex,
): Claim {
  const owner = ownerOf(endpoint, claimants, endpoints, self);
  if (owner === undefined || owner.metadata.uid === self.metadata.uid) return { kind: "free" };
  return { kind: "taken", by: owner, isSigned: isSignedBy(owner, endpoint) };
}

/** Claim of `self`, of type read_write, to become the primary of the branch that its spec names. */
export function claimOnBranch(self: Compute, claimants: Claimants, endpoints: EndpointIndex): Claim {
  const branchID = branchIDOf(self);
  for (const endpoint of endpoints.primariesOf(branchID)) {
    const owner = ownerOf(endpoint, claimants, endpoints);
    if (owner?.metadata.uid === self.metadata.uid) continue;
    if (owner === undefined) return { kind: "unowned", endpoint };
    if (!isLeaving(owner, branchID)) return { kind: "taken", by: owner, isSigned: isSignedBy(owner, endpoint) };
    return endsAt(self, owner, claimants, endpoints) ? { kind: "swap", by: owner } : { kind: "leaving", by: owner };
  }
  const best = claimants
    .onBranch(branchID)
    .filter((each) => !isBeingDeleted(each) || each.metadata.uid === self.metadata.uid)
    .reduce<Compute | undefined>(
      (first, next) => (first === undefined || olderFirst(next, first) < 0 ? next : first),
      undefined,
    );
  if (best === undefined || best.metadata.uid === self.metadata.uid) return { kind: "free" };
  return { kind: "taken", by: best, isSigned: false };
}

/** The Compute that an endpoint belongs to; `candidate` counts as one that wants it. */
export function ownerOf(
  endpoint: Endpoint,
  claimants: Claimants,
  endpoints: EndpointIndex,
  candidate?: Compute,
): Compute | undefined {
  const signer = claimants.byUID(uidInSignature(endpoint.name) ?? "");
  if (signer !== undefined) return signer;
  const first = claimants.firstOn(endpoint, endpoints);
  if (first === undefined || candidate === undefined) return first ?? candidate;
  const [a, b] = [strengthOf(first, endpoint, endpoints), strengthOf(candidate, endpoint, endpoints)];
  return (a - b || olderFirst(first, candidate)) < 0 ? first : candidate;
}

/** The Computes that are linked to the endpoint or may adopt it: by the strength of their claim, then by age. */
export function ranked(computes: readonly Compute[], endpoint: Endpoint, endpoints: EndpointIndex): Compute[] {
  return computes
    .filter((other) => {
      const { link, missing } = ownershipOf(other, endpoints);
      // One that only observes claims what it made.
      if (isObserved(other)) return link?.endpoint.id === endpoint.id && isOwn(link.proof);
      if (link !== undefined) return link.endpoint.id === endpoint.id && other.spec.type === endpoint.type;
      return missing === undefined && mayAdopt(other, endpoint);
    })
    .map((compute) => ({ compute, strength: strengthOf(compute, endpoint, endpoints) }))
    .toSorted((a, b) => a.strength - b.strength || olderFirst(a.compute, b.compute))
    .map(({ compute }) => compute);
}

/** The less, the stronger. */
function strengthOf(compute: Compute, endpoint: Endpoint, endpoints: EndpointIndex): number {
  return isLinkedTo(compute, endpoint, endpoints) ? proofRank(compute, endpoint) : 3;
}

/** The Compute that has an endpoint, by its name or a link; one that only wants it does not have it. */
export function holderOf(endpoint: Endpoint, claimants: Claimants, endpoints: EndpointIndex): Compute | undefined {
  const owner = ownerOf(endpoint, claimants, endpoints);
  if (owner === undefined) return undefined;
  return isSignedBy(owner, endpoint) || isLinkedTo(owner, endpoint, endpoints) ? owner : undefined;
}

/** Another Compute without an endpoint whose recorded create may have made this one, by all but its name. */
export function otherMakerOf(
  { branch_id, type }: Endpoint,
  self: Compute,
  claimants: Claimants,
  endpoints: EndpointIndex,
): Compute | undefined {
  return claimants.inProject().find((other) => {
    const pendingWrite = sentRecord(other.status);
    if (other.metadata.uid === self.metadata.uid || other.spec.type !== type) return false;
    const isHere = pendingWrite?.operation === "create" && pendingWrite.branchID === branch_id;
    return isHere && ownershipOf(other, endpoints).link === undefined;
  });
}

/** True if a Compute is to take over whatever primary its branch has, and this is one. */
export function adoptsPrimary({ spec: { adopt } }: Compute, endpoint: Endpoint): boolean {
  return endpoint.type === "read_write" && adopt !== undefined && "branchPrimary" in adopt;
}

/** True if the endpoint is where the Compute is to be: any other cannot be adopted. */
export function mayAdopt(compute: Compute, { branch_id, type }: Endpoint): boolean {
  return branchIDOf(compute) === branch_id && compute.spec.type === type;
}

function isLinkedTo(compute: Compute, endpoint: Endpoint, endpoints: EndpointIndex): boolean {
  return ownershipOf(compute, endpoints).link?.endpoint.id === endpoint.id;
}

/** The Compute that created it comes first, also if only an annotation proves it; then one that adopts it. */
function proofRank(compute: Compute, endpoint: Endpoint): number {
  const proof = proofOf(compute, endpoint);
  // An endpoint without a readable name may carry our name: to adopt it takes it from nobody who is linked to it.
  if (proof === "none") return hasUnreadableName(endpoint) ? 1 : 2;
  return proof === "adopted" ? 1 : 0;
}

function isSignedBy(owner: Compute, endpoint: Endpoint): boolean {
  return uidInSignature(endpoint.name) === owner.metadata.uid;
}

/** True if the holder of a branch is to give it up: an endpoint whose move is reported as drift stays. */
function isLeaving(compute: Compute, branchID: string): boolean {
  const { spec, status } = compute;
  if (isBeingDeleted(compute)) return true;
  const wanted = branchIDOf(compute);
  const isPutBack = spec.branchDrift === "Correct" && spec.driftPolicy === "Correct";
  const stays = status.drift?.some(({ field, ours }) => field === "branchID" && ours === wanted) === true;
  return wanted !== branchID && (isPutBack || !stays);
}

/** True if the chain of "waits for the branch of" that begins at `holder` leads back to `self`. */
function endsAt(self: Compute, holder: Compute, claimants: Claimants, endpoints: EndpointIndex): boolean {
  const seen = new Set<string>();
  let next: Compute | undefined = holder;
  while (next !== undefined && !isBeingDeleted(next) && !seen.has(next.metadata.uid)) {
    if (next.metadata.uid === self.metadata.uid) return true;
    seen.add(next.metadata.uid);
    const [occupant] = endpoints.primariesOf(branchIDOf(next));
    next = occupant === undefined ? undefined : ownerOf(occupant, claimants, endpoints);
  }
  return false;
}
