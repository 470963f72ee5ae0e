import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import {
  adopts,
  annotationOf,
  conditionOf,
  endpointFinalizer,
  isDeleting,
  isOurs,
  linkedID,
  proofOf,
  recordOf,
  specOf,
  statusOf,
  uidInSignature,
} from "./computes.ts";

/** How old a view may be on which an operator still acts in good faith: a slow watch, and a request on its way. */
export const goodFaithMs = 60_000;

/** How long a request of an operator is on its way at most: what was made or changed meanwhile it cannot have seen. */
export const onTheWayMs = 15_000;

interface Relabelled {
  before: Readonly<Record<string, string>>;
  at: number;
}

/** A Compute that there is or was, as last seen. Times on the monotonic clock, in milliseconds. */
export interface Known {
  compute: KubeObject;
  since: number;
  /** Infinite as long as it stands. */
  until: number;
  /** When its deletionPolicy last became what it is. */
  policySince: number;
  /** When somebody deleted it, whatever holds it since. */
  deletingSince?: number;
  /** When its status last came to say through which ClusterServiceConnection it was linked, or through none. */
  throughSince?: number;
  /** When it last came to be linked to another endpoint. */
  linkedSince?: number;
  /** When its spec last came to name another branch. */
  branchSince?: number;
  /** When a person last confirmed a loss. */
  askedAt?: number;
  /** Its labels before the last change, and when that was; and the same of the change before that. */
  relabelled?: Relabelled;
  relabelledBefore?: Relabelled;
}

interface Told {
  /** Absent: the primary of the branch. */
  endpointID: unknown;
  /** Absent: the branch has a name in the spec. */
  branchID: unknown;
  projectID: unknown;
}

/** Everything that became of Computes: what a promise is held against. */
export class Register {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  /** Which Computes ever claimed an endpoint by mark, adoption or annotation. */
  readonly #claimed = new Map<string, Set<string>>();
  /** By uid: what the specs of a Compute ever named for adoption, as `adopt`, branch and project. */
  readonly #everToldToAdopt = new Map<string, Map<string, Told>>();
  /** Computes whose finalizer a person took away: what they leave behind is on that person. */
  readonly letGoByPerson = new Set<string>();
  readonly retained = new Set<string>();
  /** Computes from whose status a person took the only proof of their endpoint, at a service that shows no names. */
  readonly unproved = new Set<string>();
  /** Computes that a person left without finalizer, link and status: a process that starts later takes them for new. */
  readonly likeNew = new Set<string>();
  /** Computes from whose status a person took the record of a create that went to another branch than the spec's. */
  readonly unplaced = new Set<string>();
  /** Computes that were not ready since a person wiped their status: nothing shows whether the spec was edited. */
  readonly wiped = new Set<string>();
  /** Computes that were deleted because their definition was. */
  readonly uninstalled = new Set<string>();
  /** Since when the definition of Computes is being deleted. */
  uninstallingSince: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(uid: string): Known | undefined {
    return this.#known.get(uid);
  }

  /** The Compute that an endpoint was made for, however long that has been gone. */
  makerOf({ name }: StoredEndpoint): Known | undefined {
    return this.get(uidInSignature(name) ?? "");
  }

  /** True if the Compute did not make what it is linked to, and its spec has named the same branch since. */
  neverMoved(uid: string): boolean {
    const known = this.get(uid);
    if (known === undefined || ![undefined, "adopted"].some((by) => by === proofOf(known.compute)?.by)) return false;
    return (known.branchSince ?? known.since) <= (known.linkedSince ?? known.since);
  }

  /** Computes of which a status no longer tells, at a service that shows no names, what was made for them, or where. */
  get untold(): ReadonlySet<string> {
    return new Set([...this.unproved, ...this.unplaced]);
  }

  /** True if nothing told a process that began later of what had been made for the Compute, or where. */
  isLikeNew(uid: string, made: readonly StoredEndpoint[]): boolean {
    const isElsewhere = new Set(made.map(({ branchId }) => branchId)).size > 1;
    return this.likeNew.has(uid) || (isElsewhere && this.unplaced.has(uid));
  }

  nameOf(uid: string): string {
    return this.get(uid)?.compute.metadata.name ?? uid;
  }

  isLiving(uid: string): boolean {
    const known = this.get(uid);
    return known !== undefined && known.until === Number.POSITIVE_INFINITY && !isDeleting(known.compute);
  }

  /** Those that stand, or stood so lately that an operator may still believe it. */
  knownLately(): Known[] {
    const now = this.#clock.monotonic();
    return [...this.#known.values()].filter(({ until }) => until + goodFaithMs >= now);
  }

  /** The Computes that could rightly send something for an endpoint. */
  claimantsOf(target: StoredEndpoint): KubeObject[] {
    return this.knownLately()
      .map(({ compute }) => compute)
      .filter(
        (compute) =>
          isOurs(compute, target) || this.hasClaimed(target.id, compute.metadata.uid) || adopts(compute, target),
      );
  }

  claim(endpointID: string, uid: string): void {
    const uids = this.#claimed.get(endpointID) ?? new Set<string>();
    this.#claimed.set(endpointID, uids.add(uid));
  }

  hasClaimed(endpointID: string, uid: string): boolean {
    return this.#claimed.get(endpointID)?.has(uid) === true;
  }

  /** Uids of Computes for which a person confirmed a loss since then. */
  askedSince(at: number): string[] {
    return [...this.#known].flatMap(([uid, { askedAt }]) => (askedAt !== undefined && askedAt >= at ? [uid] : []));
  }

  /** Whether a Compute but this one is linked to an endpoint or, where `gone` counts too, last was. */
  isOthers(endpointID: string, uid: string, { gone }: { gone: boolean }): boolean {
    return [...this.#known].some(
      ([other, { compute, until }]) =>
        other !== uid && (gone || until === Number.POSITIVE_INFINITY) && linkedID(compute) === endpointID,
    );
  }

  /** Whether a Compute that is gone left what it had, as when its definition went, and one is another's now. */
  wasLeftToOther(endpoints: readonly StoredEndpoint[], uid: string): boolean {
    const left = [this.letGoByPerson, this.uninstalled, this.retained].some((uids) => uids.has(uid));
    if (!left || this.get(uid)?.until === Number.POSITIVE_INFINITY) return false;
    return endpoints.some(({ id }) => this.isOthers(id, uid, { gone: false }));
  }

  /** Whether some spec of a Compute named this very endpoint, by its id or as the primary of the spec's branch. */
  wasToldToAdopt(uid: string, endpoint: StoredEndpoint): boolean {
    return [...(this.#everToldToAdopt.get(uid)?.values() ?? [])].some((told) => {
      if (told.endpointID !== undefined) return told.endpointID === endpoint.id;
      const isThere = told.branchID === undefined || told.branchID === endpoint.branchId;
      return isThere && told.projectID === endpoint.projectId && endpoint.type === "read_write";
    });
  }

  /** A Compute changed, by whomever. */
  changed(before: KubeObject | undefined, after: KubeObject | undefined, byOperator: boolean): void {
    const compute = after ?? before;
    if (compute === undefined) return;
    const { uid } = compute.metadata;
    this.#noteAdoption(compute);
    this.#known.set(uid, this.#followed(before, compute, after === undefined));
    const linked = linkedID(compute);
    if (linked !== undefined) this.claim(linked, uid);
    if (hasFinalizer(before) && !hasFinalizer(after) && !byOperator) this.letGoByPerson.add(uid);
    const isProved = (one: KubeObject) => proofOf(one)?.by === "created";
    if (before !== undefined && isProved(before) && !isProved(compute) && !byOperator) this.unproved.add(uid);
    if (before !== undefined && !looksNew(before) && looksNew(compute) && !byOperator) this.likeNew.add(uid);
    if (before !== undefined && !byOperator && hasRecordElsewhere(before) && recordOf(compute) === undefined)
      this.unplaced.add(uid);
    const isApplied = (one: KubeObject) => statusOf(one)["appliedGeneration"] !== undefined;
    if (before !== undefined && isApplied(before) && !isApplied(compute) && !byOperator) this.wiped.add(uid);
    if (conditionOf(compute, "Ready")?.status === "True") this.wiped.delete(uid);
    if (after === undefined && isRetained(compute)) this.retained.add(uid);
    if (isDeleting(compute) && this.uninstallingSince !== undefined) this.uninstalled.add(uid);
  }

  /**
   * Drops Computes that were gone before then, and claims to endpoints that do not stand any more. Which were retained
   * or let go stays known: what they left behind stands on.
   */
  forget(before: number, standing: ReadonlySet<string>): void {
    for (const [uid, { until }] of this.#known) {
      if (until >= before) continue;
      for (const facts of [this.#known, this.#everToldToAdopt]) facts.delete(uid);
    }
    for (const id of this.#claimed.keys()) if (!standing.has(id)) this.#claimed.delete(id);
  }

  #noteAdoption(compute: KubeObject): void {
    const { uid } = compute.metadata;
    const { adopt, branchID, projectID } = specOf(compute);
    // What a former Compute made is linked only when it bears the signature of this one.
    if (!isJsonObject(adopt) || adopt["former"] !== undefined) return;
    const told = this.#everToldToAdopt.get(uid) ?? new Map<string, Told>();
    this.#everToldToAdopt.set(
      uid,
      told.set(JSON.stringify([adopt, branchID]), { endpointID: adopt["endpointID"], branchID, projectID }),
    );
  }

  #followed(before: KubeObject | undefined, compute: KubeObject, gone: boolean): Known {
    const now = this.#clock.monotonic();
    const last = this.get(compute.metadata.uid);
    const known: Known = {
      ...(last ?? { since: now, policySince: now }),
      compute,
      until: gone ? now : Number.POSITIVE_INFINITY,
    };
    if (before === undefined) return known;
    if (specOf(before)["deletionPolicy"] !== specOf(compute)["deletionPolicy"]) known.policySince = now;
    const [through, earlierThrough] = [compute, before].map((one) => statusOf(one)["clusterConnection"]);
    if (through !== earlierThrough) known.throughSince = now;
    if (linkedID(compute) !== linkedID(before)) known.linkedSince = now;
    const [branch, earlierBranch] = [compute, before].map((one) => JSON.stringify(branchOf(one)));
    if (branch !== earlierBranch) known.branchSince = now;
    if (isDeleting(compute)) known.deletingSince ??= now;
    const confirmed = annotationOf(compute, "confirmLoss");
    if (confirmed !== undefined && confirmed !== annotationOf(before, "confirmLoss")) known.askedAt = now;
    const [labels, earlier] = [compute.metadata.labels ?? {}, before.metadata.labels ?? {}];
    if (JSON.stringify(labels) !== JSON.stringify(earlier)) {
      if (last?.relabelled !== undefined) known.relabelledBefore = last.relabelled;
      known.relabelled = { before: earlier, at: now };
    }
    return known;
  }
}

/** True if what the Compute has stays when it goes: by its policy, or by adoption where none says otherwise. */
export function isRetained(compute: KubeObject): boolean {
  const { deletionPolicy } = specOf(compute);
  return deletionPolicy === "Retain" || (deletionPolicy === undefined && proofOf(compute)?.by === "adopted");
}

/** What the spec says of its branch. */
function branchOf(compute: KubeObject): readonly unknown[] {
  const { branchID, branchName, branchRef } = specOf(compute);
  return [branchID, branchName, branchRef];
}

function hasRecordElsewhere(compute: KubeObject): boolean {
  const { operation, branchID } = recordOf(compute) ?? {};
  return operation === "create" && branchID !== specOf(compute)["branchID"];
}

function looksNew(compute: KubeObject): boolean {
  const { conditions, pendingWrite, proof } = statusOf(compute);
  const isMarked = hasFinalizer(compute) || linkedID(compute) !== undefined;
  return !isMarked && [conditions, pendingWrite, proof].every((one) => one === undefined);
}

export function hasFinalizer(compute: KubeObject | undefined): boolean {
  return compute?.metadata.finalizers?.includes(endpointFinalizer) ?? false;
}
