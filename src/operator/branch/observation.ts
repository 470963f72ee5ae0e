import type { ListedBranch } from "../../api/branch.ts";
import type { BranchListing } from "../../api/branch-listing.ts";
import type { Operation } from "../../api/operation.ts";
import { placeOf } from "../objects/object.ts";
import { annotation } from "../resources/annotation.ts";
import { type Branch, branchNameOf } from "../resources/branch.ts";
import { areOfOneService } from "../resources/fingerprint.ts";
import { isObserved } from "../resources/management-policy.ts";
import { noteKeys } from "../resources/names.ts";
import type { BranchReason } from "./reasons.ts";

/** The operator's knowledge of one Branch before it reads anything from the service. */
export interface Subject {
  object: Branch;
  /** Monotonic milliseconds. */
  now: number;
  createSettleMs: number;
  /** `--fleet`. */
  fleet: string | undefined;
  /** The other Branches of the same project of the same service that may want the same branch. */
  others: readonly Branch[];
  /** True if a live Branch has this uid. */
  lives: (uid: string) => boolean;
  /** The names of Computes in its namespace that use it and that it does not own; only its deletion asks. */
  usedBy: readonly string[];
  compute: OwnedCompute;
}

/** The step for the Compute of the object's name; `isTaken`: somebody else has the name that it needs. */
export interface OwnedCompute {
  step: ComputeStep | undefined;
  isTaken: boolean;
}

export interface ComputeStep {
  kind: "create" | "patch" | "delete";
}

/** A Branch and its project's latest list, which is new enough. */
export interface Observation extends Subject {
  kind: "observed";
  listing: BranchListing;
  /** By the service's clock, in milliseconds since the epoch. */
  serviceNow: number;
  /** Of the base URL and key. */
  fingerprint: string;
  /** The branch at the service, and why it is this object's. */
  linked: { listed: ListedBranch; by: BranchProof } | undefined;
  /** Of the last reset: `inProgress`, while one of its operations is; else one that has failed. */
  resetting: "inProgress" | Operation | undefined;
  /** The id of the branch that this object is linked to and that the list lacks. */
  missing: string | undefined;
}

/** Nothing was looked at: why is shown, or the Branch waits to be enqueued. */
export type Unobserved = Subject & {
  kind: "unobserved";
  why: { kind: "shown"; reason: BranchReason; message: string } | { kind: "pending"; afterMs?: number };
};

/** `note`: our note; `created` and `former`: as `status.proof` says; `none`: it is only linked. */
export type BranchProof = "note" | "created" | "former" | "adopted" | "none";

/** A blank value asks for nothing: a template that was given none writes one, and a reset drops data. */
export function annotationOf(object: Branch, name: "resetAt" | "reconcileRequestedAt") {
  const value = annotation(object, name);
  return value?.trim() === "" ? undefined : value;
}

/** The branch that the object is linked to, unless it is proved gone. */
export function linkedID({ status }: Branch): string | undefined {
  return status.branchID === status.gone?.branchID ? undefined : status.branchID;
}

/** The uid in the note of a branch, whichever operator wrote it. */
export function notedUID({ note }: ListedBranch): string | undefined {
  const uid = note?.[noteKeys.uid];
  return typeof uid === "string" ? uid : undefined;
}

/** The note that our create writes. */
export function noteFor(object: Branch, fleet: string | undefined): Record<string, string> {
  return {
    [noteKeys.uid]: object.metadata.uid,
    ...(fleet === undefined ? {} : { [noteKeys.fleet]: fleet }),
    [noteKeys.object]: placeOf(object.metadata),
  };
}

/** True if a former Branch of this fleet, namespace and name made the branch. */
export function isOfFormerBranch({ note }: ListedBranch, object: Branch, fleet: string | undefined): boolean {
  return fleet !== undefined && note?.[noteKeys.fleet] === fleet && note[noteKeys.object] === placeOf(object.metadata);
}

/** Our note or the status proves a branch this object's; another's note outranks the status. */
export function ownershipOf(object: Branch, listed: ListedBranch): BranchProof {
  const { uid } = object.metadata;
  const noted = notedUID(listed);
  if (noted === uid) return "note";
  const { proof } = object.status;
  if (proof === undefined || proof.uid !== uid || proof.branchID !== listed.id) return "none";
  if (proof.by === "former") return "former";
  if (noted !== undefined) return "none";
  return proof.by === "created" || proof.by === "adopted" ? proof.by : "none";
}

/** True if renewal, reset and deletion of the branch are this object's. */
export function isOurs(by: BranchProof): boolean {
  return by === "note" || by === "created" || by === "former";
}

/**
 * The branch of this object in a list: the one that it is linked to, also if that was proved gone and is back; one with
 * our note only where none is linked.
 */
export function findLinked(object: Branch, listing: BranchListing): Observation["linked"] {
  const known = listing.byID(object.status.branchID);
  if (known !== undefined) return { listed: known, by: ownershipOf(object, known) };
  if (object.status.branchID !== undefined) return undefined;
  const isNoted = (one: ListedBranch) => notedUID(one) === object.metadata.uid;
  const noted = listing.named(branchNameOf(object)).find(isNoted) ?? [...listing.all].find(isNoted);
  return noted === undefined ? undefined : { listed: noted, by: "note" };
}

/**
 * True if a service of another base URL gave the proof that the status holds: one that a tenant runs may give the id of
 * anybody's branch to the tenant's own.
 */
export function isProvedElsewhere({ status: { proof, observedThrough } }: Branch, fingerprint: string): boolean {
  if (proof === undefined || observedThrough === undefined) return false;
  return proof.by !== "adopted" && !areOfOneService(observedThrough, fingerprint);
}

/** The branch that `spec.adopt` names, for an object that only observes. */
function findAdopted(object: Branch, listing: BranchListing, fleet: string | undefined): Observation["linked"] {
  const { adopt } = object.spec;
  if (adopt === undefined) return undefined;
  const listed = "branchID" in adopt ? listing.byID(adopt.branchID) : listing.named(branchNameOf(object))[0];
  if (listed === undefined || ("former" in adopt && !isOfFormerBranch(listed, object, fleet))) return undefined;
  return { listed, by: "adopted" };
}

/** As `findLinked`, where the base URL may have been changed: a note of ours is a proof at any service. */
export function findLinkedAt(
  fingerprint: string,
  object: Branch,
  listing: BranchListing,
  fleet?: string,
): Observation["linked"] {
  if (isObserved(object)) return findAdopted(object, listing, fleet);
  const linked = findLinked(object, listing);
  const isVoid = linked !== undefined && linked.by !== "note" && isProvedElsewhere(object, fingerprint);
  return isVoid ? { ...linked, by: "none" } : linked;
}
