import { BranchPlaces } from "../branch/branch-places.ts";
import { placesOf } from "../branch/users.ts";
import type { Change } from "../kube/store.ts";
import { conditionOf } from "../objects/conditions-of.ts";
import { placeOf } from "../objects/object.ts";
import type { Branch } from "../resources/branch.ts";
import type { Compute } from "../resources/compute.ts";
import { connectionKeyOf } from "../resources/connection-user.ts";
import { ObjectIndex } from "./object-index.ts";

/** The objects that an event of another concerns, found without a look at all of them. */
export class Indexes {
  /** By the place of the connection that they name; the namespace of a ClusterServiceConnection is empty. */
  readonly users = new ObjectIndex<Compute>((user) => [placeOf(connectionKeyOf(user))]);
  readonly branchUsers = new ObjectIndex<Branch>((user) => [placeOf(connectionKeyOf(user))]);
  /** By the place of the Branch that they name. */
  readonly computesOnBranch = new ObjectIndex<Compute>(({ metadata: { namespace }, spec: { branchRef } }) =>
    branchRef === undefined ? [] : [placeOf({ namespace, name: branchRef.name })],
  );
  /** By namespace, project and branch: where their endpoints are, and may still come to be. */
  readonly computesAt = new ObjectIndex<Compute>((compute) =>
    placesOf(compute).map((id) => linkedKey(compute.metadata.namespace, compute.spec.projectID, id)),
  );
  readonly linkedBranches = new ObjectIndex<Branch>(({ metadata: { namespace }, spec, status: { branchID } }) =>
    branchID === undefined ? [] : [linkedKey(namespace, spec.projectID, branchID)],
  );
  /** By project: those that wait for something that another has, or for room. */
  readonly waitingBranches = new ObjectIndex<Branch>((object) =>
    conditionOf(object.status, "Stalled")?.status === "True" ? [object.spec.projectID] : [],
  );
  readonly branchPlaces = new BranchPlaces();

  compute(change: Change<Compute>): void {
    for (const index of [this.users, this.computesOnBranch, this.computesAt]) index.change(change);
  }

  branch(change: Change<Branch>): void {
    for (const index of [this.branchUsers, this.linkedBranches, this.waitingBranches]) index.change(change);
    this.branchPlaces.change(change);
  }
}

/** A key of `computesAt` and `linkedBranches`. */
export function linkedKey(namespace: string | undefined, projectID: string, branchID: string): string {
  return JSON.stringify([namespace, projectID, branchID]);
}
