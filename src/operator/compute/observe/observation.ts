import type { Operation } from "../../../api/operation.ts";
import type { Claimants } from "../../claims/claims.ts";
import type { EndpointIndex, Ownership } from "../../claims/ownership.ts";
import type { PasswordRecord } from "../../connection-secret/rotation.ts";
import { isBeingDeleted, isHeldBy, placeOf } from "../../objects/object.ts";
import type { NamedBranch } from "../../project/branch-lister.ts";
import type { Compute } from "../../resources/compute.ts";
import { finalizers } from "../../resources/names.ts";
import type { Fleet } from "../../resources/signature.ts";
import type { Reason } from "../words/reasons.ts";
import type { Annotations } from "./annotations.ts";
import type { Moment } from "./moment.ts";

/** The subject of one reconcile. */
export interface Subject {
  compute: Compute;
  annotations: Annotations;
  claimants: Claimants;
  /** Monotonic milliseconds. */
  now: number;
  /** `--create-settle`, in milliseconds. */
  createSettleMs: number;
  /** `--fleet`; `undefined`: none. */
  fleet: Fleet | undefined;
  /** Schedule and windows by the service's clock; absent where there are none. */
  moment?: Moment | undefined;
  /** Result of `spec.branchRef`; absent where the spec has none. */
  referred?: ReferredBranch | undefined;
  /** Name at the service of the Branch that `spec.branchRef` names; absent where there is no such Branch. */
  referredName?: string | undefined;
  /** The other members of the Compute's pool; absent where it is no member. */
  siblings?: Siblings | undefined;
  /** The connection Secret with its password; absent where none stands. */
  secret?: SecretFacts | undefined;
  /** The service's time, in milliseconds since the epoch. */
  serviceNow: number;
}

/** The facts of a connection Secret from which a rotation is planned. */
export interface SecretFacts {
  record: PasswordRecord;
  /** True if connections may be cut now. */
  mayCut: boolean;
}

/** The other members of a pool, as this process knows them at the moment of the call. */
export interface Siblings {
  pool: string;
  maxUnavailable: number;
  /** Time at which this term of leadership began. */
  termSince: number;
  /**
   * Number of those that are missing or not ready, or have a write that cuts connections and that no list shows ended;
   * also one that an earlier term sent, and that this list shows.
   */
  unavailable: (endpoints: EndpointIndex) => number;
}

/** The branch of the Branch that a Compute names; `unusable`: nothing is created on it or moved to it. */
export type ReferredBranch =
  | { kind: "listed"; ids: readonly string[]; forMs: number }
  | { kind: "unusable"; reason: "BranchNotReady" | "Conflict" | "Expired"; message: string };

/** Nothing is known yet, or nothing new enough: a newer list enqueues the Compute, or `requeueAfterMs` if it is set. */
export interface Pending extends Subject {
  kind: "pending";
  requeueAfterMs?: number;
}

/** The service cannot be seen. `baseURL`, and `fingerprint` of it and the key: of the connection to ask through. */
export interface Unavailable extends Subject {
  kind: "unavailable";
  reason: Reason;
  message: string;
  projectGone: boolean;
  fingerprint?: string;
  baseURL?: string;
}

/** The part of a list that concerns one Compute. */
export interface EndpointSnapshot {
  endpoints: EndpointIndex;
  /** Begin of the list's request, in monotonic milliseconds. */
  startedAt: number;
  links: Ownership;
  /** Of the linked endpoint, newest first. */
  operations: readonly Operation[];
  /** End of those operations, in monotonic milliseconds. */
  operationsEndedAt?: number;
  /** Begin of a change of the linked endpoint that is in progress, in monotonic milliseconds. */
  busySince?: number;
  /** The linked endpoint is as the answer to a write shows it: no list has confirmed that yet. */
  laidOver?: true;
  /** All recent operations of the linked endpoint, including those of other writers, if the plan needs them. */
  lookedUp?: readonly Operation[];
  /** Number of the project's linked endpoints, and of those among them that this list lacks. */
  notListed: { missing: number; known: number };
  /** The list's base URL, normalised. */
  baseURL: string;
  /** Of the base URL and key. */
  fingerprint: string;
  /** The connection is being deleted: nothing new is created through it. */
  terminating: boolean;
}

/** A Compute joined with a list that is new enough to plan from. */
export interface Observation extends Subject, EndpointSnapshot {
  kind: "observed";
  /** Result of `spec.branchName` or `spec.branchRef`; absent where the spec gives an id, and for a deletion. */
  named?: NamedBranch | ReferredBranch;
  /** The branch of an endpoint that is missing: still listed or not; absent where none is missing. */
  missingFrom?: MissingFrom;
}

/** `awaited`: a list of branches is on its way. `unknown`: the service does not list them. */
export type MissingFrom = { branchID: string; branch: "shown" | "gone" | "awaited" | "unknown" };

export type Observed = Pending | Unavailable | Observation;

/** The name by which the branch is to be found; a deletion never depends on what a name comes to. */
export function branchNameNeeded(compute: Compute): string | undefined {
  return isBeingDeleted(compute) ? undefined : compute.spec.branchName;
}

/** True if our finalizer holds the Compute. */
export function hasFinalizer(compute: Compute): boolean {
  return isHeldBy(compute, finalizers.endpoint);
}

/** A Compute by kind and name, for messages about another one. */
export function who(compute: Compute): string {
  return `Compute ${placeOf(compute.metadata)}`;
}
