import type { ListedBranch } from "../../api/branch.ts";
import type { BranchListing } from "../../api/branch-listing.ts";
import type { Operation } from "../../api/operation.ts";
import type { BranchMemory } from "../../operator/branch/memory.ts";
import type { EndpointIndex } from "../../operator/claims/ownership.ts";
import type { Unavailable } from "../../operator/compute/observe/observation.ts";
import type { ReconcileState } from "../../operator/compute/reconcile-state.ts";
import type { Listing as Listed } from "../../operator/project/list-changes.ts";
import type { ServiceTime } from "../../operator/project/service-time.ts";
import type { Branch } from "../../operator/resources/branch.ts";
import type { Connection } from "../../operator/resources/cluster-service-connection.ts";
import type { Compute } from "../../operator/resources/compute.ts";
import type { ComputePool } from "../../operator/resources/compute-pool.ts";
import type { Answer } from "../../operator/service-client/answer.ts";
import type { ServiceClient } from "../../operator/service-client/client.ts";

/** An object and what this command remembers of it: the object as it would be stored in a cluster by now. */
interface TrackedObject<Object, Memory> {
  object: Object;
  readonly memory: Memory;
  readonly project: Project;
  /** Reason why `apply --prune` deletes it. */
  pruned?: string;
}

export interface TrackedCompute extends TrackedObject<Compute, ReconcileState> {
  readonly kind: "Compute";
  /** As the cluster has it, where its manifest may change it. */
  readonly before?: Compute | undefined;
  /** The pool that declares it. */
  readonly pool?: ComputePool | undefined;
}

export interface TrackedBranch extends TrackedObject<Branch, BranchMemory> {
  readonly kind: "Branch";
  /** No status says which end was applied last: it is concluded from what the service shows. */
  endIsAssumed?: true;
}

export type Tracked = TrackedCompute | TrackedBranch;

/**
 * Objects that may still leave a branch that is pruned: Computes by a move, Branches by their deletion. The branch is
 * planned as it will be without them, and deleted once they have left it.
 */
export interface Leaving {
  computes: ReadonlySet<Compute>;
  branches: ReadonlySet<TrackedBranch>;
}

export const nothingLeaves: Leaving = { computes: new Set(), branches: new Set() };

/** A project of the service, listed once for all its objects. */
export interface Project {
  id: string;
  client: ServiceClient;
  /** The service's clock, by which a Branch ends, and schedules and windows count. */
  time: ServiceTime;
  connection: Connection | undefined;
  listing: Listing | undefined;
  /** Listed once where only a Compute needs them, and with the endpoints where there are Branches. */
  branches: Answer<ListedBranch[]> | undefined;
  /** The same, by id, name and parent; `undefined` where there is none. */
  branchListing?: BranchListing | undefined;
  /** The operations of our own writes, by id, oldest first. */
  operations: Map<string, Operation>;
}

type Listing = ({ kind: "listed"; index: EndpointIndex } & Listed) | Unlisted;
export type Unlisted = Pick<Unavailable, "kind" | "reason" | "message" | "projectGone">;
