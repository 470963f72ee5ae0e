import type { Endpoint } from "../../api/endpoint.ts";
import type { Change } from "../kube/store.ts";
import { branchIDOf, type Compute } from "../resources/compute.ts";
import { connectionKeyOf } from "../resources/connection-user.ts";
import { isObserved } from "../resources/management-policy.ts";
import { Index, IndexEntries, type IndexEntry } from "../runtime/index-entries.ts";
import { adoptsPrimary, type Claimants } from "./claims.ts";
import { Contenders, haveSameRank } from "./contenders.ts";
import { type EndpointIndex, endpointNamedBy, provedIn, recordedID } from "./ownership.ts";

/** Answers about a Compute's connection. */
export interface ConnectionFacts {
  /** The service that the connection leads to; `undefined`: none. */
  serviceOf: (compute: Compute) => string | undefined;
  /** True if nothing shows that the connection reaches the project: such a Compute claims nothing. */
  isOutsider: (compute: Compute) => boolean;
}

/**
 * Every Compute that is watched, also those of other processes, by the branches and endpoints that it claims. The same
 * ids at different services are different places.
 */
export class ClaimIndex {
  readonly #connections: ConnectionFacts;
  readonly #computes = new Map<string, Compute>();
  /** Places of each Compute in the indexes. */
  readonly #places = new IndexEntries();
  readonly #byBranch = new Index();
  readonly #byEndpoint = new Index();
  readonly #byProject = new Index();
  /** Outsiders, as they were when last indexed: what their connections reach changes without a change of theirs. */
  readonly #outsiders = new Set<string>();
  readonly #contenders = new Contenders();

  constructor(connections: ConnectionFacts) {
    this.#connections = connections;
  }

  /** The Computes that could lay claim to endpoints of the same project of the same service. */
  claimantsOf(compute: Compute): Claimants {
    const key = connectionKeyOf(compute);
    // A Compute with the same connection reaches what this one reaches, whatever its status says.
    const sameConnection = (other: Compute) => {
      const { namespace, name } = connectionKeyOf(other);
      return namespace === key.namespace && name === key.name;
    };
    const counts = (other: Compute) => sameConnection(other) || !this.#connections.isOutsider(other);
    const among = (index: Index, id?: string) => this.#read(index, this.#key(compute, id)).filter(counts);
    return {
      byUID: (uid) => this.#computes.get(uid),
      onBranch: (branchID) => among(this.#byBranch, branchID),
      onEndpoint: (endpointID) => among(this.#byEndpoint, endpointID),
      firstOn: (endpoint, endpoints) => {
        for (const uid of this.#contendersFor(compute, endpoint, endpoints)) {
          const other = this.#computes.get(uid);
          if (other !== undefined && counts(other)) return other;
        }
        return undefined;
      },
      inProject: () => among(this.#byProject),
    };
  }

  /** True if a Compute with this uid exists, of whatever process. */
  has(uid: string): boolean {
    return this.#computes.has(uid);
  }

  /** A Compute that claims this endpoint of a service. */
  claimantOn(service: string, projectID: string, endpointID: string): Compute | undefined {
    return this.#read(this.#byEndpoint, `${service} ${projectID} ${endpointID}`)[0];
  }

  set(compute: Compute): void {
    const { uid } = compute.metadata;
    const [before, project] = [this.#computes.get(uid), this.#projectOf(uid)];
    this.#computes.set(uid, compute);
    this.#places.set(uid, this.#placesOf(compute));
    if (this.#connections.isOutsider(compute)) this.#outsiders.add(uid);
    else this.#outsiders.delete(uid);
    if (before !== undefined && haveSameRank(before, compute) && project === this.#projectOf(uid)) return;
    for (const key of [project, this.#projectOf(uid)]) if (key !== undefined) this.#contenders.forget(key);
  }

  delete(uid: string): void {
    const project = this.#projectOf(uid);
    if (project !== undefined) this.#contenders.forget(project);
    this.#computes.delete(uid);
    this.#places.delete(uid);
    this.#outsiders.delete(uid);
  }

  /** The connection that a Compute names may lead elsewhere now; returns the UIDs whose claims that may affect. */
  movedWith(compute: Compute): Set<string> {
    const woken = this.#uidsAt(this.#places.of(compute.metadata.uid));
    this.set(compute);
    for (const uid of this.neighboursOf(compute)) woken.add(uid);
    return woken;
  }

  /** Applies a change; returns the UIDs whose claims it may affect, its own included. */
  change({ type, object, previous }: Change<Compute>): Set<string> {
    const { uid } = object.metadata;
    const woken = new Set([uid]);
    const claim = claimIn(object, this.#connections.isOutsider(object));
    const touched =
      type === "deleted" || previous === undefined || claim !== claimIn(previous, this.#outsiders.has(uid));
    const enqueue = (version: Compute | undefined) => {
      if (version !== undefined && touched) for (const other of this.neighboursOf(version)) woken.add(other);
    };
    enqueue(previous);
    enqueue(object);
    if (type === "deleted") this.delete(uid);
    else this.set(object);
    return woken;
  }

  /** The UIDs whose claims a change of this Compute may affect, its own included. */
  neighboursOf(compute: Compute): Set<string> {
    return this.#uidsAt(this.#placesOf(compute)).add(compute.metadata.uid);
  }

  /** UIDs that share a branch or an endpoint. Sharing only the project is no conflict. */
  #uidsAt(places: readonly IndexEntry[]): Set<string> {
    const uids = new Set<string>();
    for (const { index, key } of places) {
      if (index !== this.#byProject) for (const uid of index.get(key)) uids.add(uid);
    }
    return uids;
  }

  #placesOf(compute: Compute): IndexEntry[] {
    const branchID = branchIDOf(compute);
    const onlyObserves = isObserved(compute);
    const named = onlyObserves ? [provedIn(compute)] : [recordedID(compute), endpointNamedBy(compute)];
    const ids = [...new Set(named)].filter((id) => id !== undefined);
    return [
      { index: this.#byProject, key: this.#key(compute) },
      ...(compute.spec.type === "read_write" && branchID !== "" && !onlyObserves
        ? [{ index: this.#byBranch, key: this.#key(compute, branchID) }]
        : []),
      ...ids.map((id) => ({ index: this.#byEndpoint, key: this.#key(compute, id) })),
    ];
  }

  /** The project of a Compute and its service, as it stands in the indexes. */
  #projectOf(uid: string): string | undefined {
    return this.#places.of(uid).find(({ index }) => index === this.#byProject)?.key;
  }

  /** Names a project at a service, and what in it. */
  #key(compute: Compute, id = ""): string {
    return `${this.#connections.serviceOf(compute) ?? ""} ${compute.spec.projectID} ${id}`;
  }

  /** Computes of the same project and service that contend for an endpoint, the best claim first. */
  #contendersFor(compute: Compute, endpoint: Endpoint, endpoints: EndpointIndex): readonly string[] {
    return this.#contenders.of(this.#key(compute), endpoint, endpoints, () => {
      const named = this.#read(this.#byEndpoint, this.#key(compute, endpoint.id));
      const onBranch = this.#read(this.#byBranch, this.#key(compute, endpoint.branch_id));
      return [...new Set([...named, ...onBranch.filter((other) => adoptsPrimary(other, endpoint))])];
    });
  }

  #read(index: Index, at: string): Compute[] {
    return [...index.get(at)].flatMap((uid) => this.#computes.get(uid) ?? []);
  }
}

/** The parts of a Compute that affect the claims of others. */
function claimIn(compute: Compute, isOutside: boolean): string {
  const { spec, metadata } = compute;
  const { projectID, type, adopt, connectionRef } = spec;
  const { deletionTimestamp } = metadata;
  return JSON.stringify([
    projectID,
    branchIDOf(compute),
    type,
    adopt,
    connectionRef,
    recordedID(compute),
    isObserved(compute),
    deletionTimestamp,
    isOutside,
  ]);
}
