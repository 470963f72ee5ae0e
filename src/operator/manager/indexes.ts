import { BranchPlaces } from "../branch/branch-places.ts";
import { placesOf } from "../branch/users.ts";
import type { KeptSecret } from "../connection-secret/kept-secret.ts";
import { isElsewhere, placeOfSecret } from "../connection-secret/place.ts";
import type { Change } from "../kube/store.ts";
import { isTrue } from "../objects/conditions-of.ts";
import { placeOf } from "../objects/object.ts";
import type { Branch } from "../resources/branch.ts";
import type { Compute } from "../resources/compute.ts";
import { owningPool } from "../resources/compute-pool.ts";
import { connectionKeyOf } from "../resources/connection-user.ts";
import { labels, SECRET_OF } from "../resources/names.ts";
import { ObjectIndex } from "./object-index.ts";

/** The objects that an event of another concerns, found without a look at all of them. */
export class Indexes {
  /** By the place of the connection that they name; the namespace of a ClusterServiceConnection is empty. */
  readonly users: ObjectIndex<Compute>;
  readonly branchUsers: ObjectIndex<Branch>;
  /** By the place of the Branch that they name. */
  readonly computesOnBranch: ObjectIndex<Compute>;
  /** By namespace, project and branch: where their endpoints are, and may still come to be. */
  readonly computesAt: ObjectIndex<Compute>;
  /** By the uid of the pool that owns them. */
  readonly members: ObjectIndex<Compute>;
  readonly linkedBranches: ObjectIndex<Branch>;
  /** By project: those that wait for something that another has, or for room. */
  readonly waitingBranches: ObjectIndex<Branch>;
  readonly branchPlaces = new BranchPlaces();
  /** By the other namespace that their connection Secrets are to lie in. */
  readonly computesWithSecretIn: ObjectIndex<Compute>;
  /** By the uid of their Computes, which are of other namespaces. */
  readonly secretsElsewhere: ObjectIndex<KeptSecret>;

  /** The caches that it is about. */
  constructor(
    compute: (uid: string) => Compute | undefined,
    branch: (uid: string) => Branch | undefined,
    secret: (uid: string) => KeptSecret | undefined,
  ) {
    this.users = new ObjectIndex(compute, (user) => [placeOf(connectionKeyOf(user))]);
    this.branchUsers = new ObjectIndex(branch, (user) => [placeOf(connectionKeyOf(user))]);
    this.computesOnBranch = new ObjectIndex(compute, ({ metadata: { namespace }, spec: { branchRef } }) =>
      branchRef === undefined ? [] : [placeOf({ namespace, name: branchRef.name })],
    );
    this.computesAt = new ObjectIndex(compute, (object) =>
      placesOf(object).map((id) => linkedKey(object.metadata.namespace, object.spec.projectID, id)),
    );
    this.computesWithSecretIn = new ObjectIndex(compute, (object) => {
      const place = placeOfSecret(object);
      return place !== undefined && isElsewhere(place, object) ? [place.namespace] : [];
    });
    this.secretsElsewhere = new ObjectIndex(secret, ({ metadata: { labels: labelled, annotations } }) =>
      annotations?.[SECRET_OF] === undefined ? [] : [labelled?.[labels.compute] ?? ""],
    );
    this.members = new ObjectIndex(compute, (object) => {
      const owner = owningPool(object);
      return owner === undefined ? [] : [owner.uid];
    });
    this.linkedBranches = new ObjectIndex(branch, ({ metadata: { namespace }, spec, status: { branchID } }) =>
      branchID === undefined ? [] : [linkedKey(namespace, spec.projectID, branchID)],
    );
    this.waitingBranches = new ObjectIndex(branch, ({ spec, status }) =>
      isTrue(status, "Stalled") ? [spec.projectID] : [],
    );
  }

  compute(change: Change<Compute>): void {
    for (const index of [this.users, this.computesOnBranch, this.computesAt, this.computesWithSecretIn, this.members])
      index.change(change);
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
