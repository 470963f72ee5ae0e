import type { Change } from "../../cluster/store.ts";
import type { Compute } from "../../resources/compute.ts";
import { recordedID } from "./link.ts";

/** Every Compute of the cluster that is watched, whoever reconciles it, by what it lays claim to. */
export class ClaimIndex {
  readonly #computes = new Map<string, Compute>();
  readonly #byBranch = new Map<string, Set<string>>();
  readonly #byEndpoint = new Map<string, Set<string>>();
  readonly #byProject = new Map<string, Set<string>>();

  get(uid: string): Compute | undefined {
    return this.#computes.get(uid);
  }

  set(compute: Compute): void {
    this.delete(compute.metadata.uid);
    this.#computes.set(compute.metadata.uid, compute);
    this.#each(compute, (index, key) => {
      const uids = index.get(key) ?? new Set();
      index.set(key, uids.add(compute.metadata.uid));
    });
  }

  delete(uid: string): void {
    const compute = this.#computes.get(uid);
    if (compute === undefined) return;
    this.#computes.delete(uid);
    this.#each(compute, (index, key) => {
      const uids = index.get(key);
      uids?.delete(uid);
      if (uids?.size === 0) index.delete(key);
    });
  }

  inProject(projectID: string): Compute[] {
    return this.#read(this.#byProject, projectID);
  }

  /** Those that want to be the primary of a branch. */
  onBranch(projectID: string, branchID: string): Compute[] {
    return this.#read(this.#byBranch, placeOf(projectID, branchID));
  }

  /** Those that are linked to an endpoint, or want to adopt it. */
  onEndpoint(projectID: string, endpointID: string): Compute[] {
    return this.#read(this.#byEndpoint, placeOf(projectID, endpointID));
  }

  /** Takes a change over; answers with everybody whose claims it may touch, itself among them. */
  change({ type, object, previous }: Change<Compute>): Set<string> {
    const woken = new Set([object.metadata.uid]);
    const touched = type === "deleted" || previous === undefined || claimOf(object) !== claimOf(previous);
    const wake = (version: Compute | undefined) => {
      if (version !== undefined && touched) for (const other of this.neighboursOf(version)) woken.add(other);
    };
    wake(previous);
    wake(object);
    if (type === "deleted") this.delete(object.metadata.uid);
    else this.set(object);
    return woken;
  }

  /** Everybody whose claims may be touched by a change of this Compute, itself among them. */
  neighboursOf(compute: Compute): Set<string> {
    const uids = new Set<string>([compute.metadata.uid]);
    this.#each(compute, (index, at) => {
      if (index === this.#byProject) return;
      for (const uid of index.get(at) ?? []) uids.add(uid);
    });
    return uids;
  }

  #each({ spec, ...rest }: Compute, visit: (index: Map<string, Set<string>>, key: string) => void): void {
    visit(this.#byProject, spec.projectID);
    if (spec.type === "read_write") visit(this.#byBranch, placeOf(spec.projectID, spec.branchID));
    const ids = new Set([recordedID({ spec, ...rest }), endpointNamedBy(spec.adopt)]);
    for (const id of ids) if (id !== undefined) visit(this.#byEndpoint, placeOf(spec.projectID, id));
  }

  #read(index: Map<string, Set<string>>, at: string): Compute[] {
    return [...(index.get(at) ?? [])].flatMap((uid) => this.#computes.get(uid) ?? []);
  }
}

/** What of a Compute touches the claims of others. */
function claimOf(compute: Compute): string {
  const { spec, metadata } = compute;
  const { projectID, branchID, type, adopt, connectionRef } = spec;
  const { deletionTimestamp } = metadata;
  return JSON.stringify([projectID, branchID, type, adopt, connectionRef, recordedID(compute), deletionTimestamp]);
}

function placeOf(projectID: string, id: string): string {
  return `${projectID} ${id}`;
}

function endpointNamedBy(adopt: Compute["spec"]["adopt"]): string | undefined {
  return adopt !== undefined && "endpointID" in adopt ? adopt.endpointID : undefined;
}
