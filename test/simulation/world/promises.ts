import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import type { KubeObject } from "../api-server/objects.ts";
import {
  adopts,
  annotationOf,
  createMarkOf,
  endpointFinalizer,
  inUseFinalizer,
  isDeleting,
  isOurs,
  linkedID,
  markerOf,
  specOf,
  uidOfMarker,
} from "./computes.ts";
import { ListGuard } from "./list-guard.ts";
import { type ClusterWrite, markOf, type ServiceWrite, type Violation } from "./records.ts";
import { RestartGuard } from "./restart-guard.ts";

/** How old a view may be on which an operator still acts in good faith: a slow watch, and a request on its way. */
const goodFaithMs = 60_000;

export interface PromisesOptions {
  clock: Clock;
  /** What stands at the service at this moment. */
  endpoints: () => readonly StoredEndpoint[];
}

/** The promises that hold at every step, checked as each request leaves, arrives or changes something. */
export class Promises {
  readonly violations: Violation[] = [];
  readonly #options: PromisesOptions;
  readonly #writes: ServiceWrite[] = [];
  readonly #restarts: RestartGuard;
  readonly #lists: ListGuard;
  /** Every Compute that there is or was, as last seen, and until when it stood. */
  readonly #known = new Map<string, { compute: KubeObject; until: number }>();
  /** Which Computes ever claimed an endpoint by mark, adoption or annotation. */
  readonly #claimed = new Map<string, Set<string>>();
  /** When a Compute's deletionPolicy last became what it is. */
  readonly #policySince = new Map<string, number>();
  /** When the mark of a Compute's create was first set: one that kubectl replace dropped is put back as it was. */
  readonly #markedAt = new Map<string, { since: unknown; at: number }>();
  readonly #everToldToAdopt = new Set<string>();
  /** Computes whose finalizer a person took away: what they leave behind is on that person. */
  readonly letGoByPerson = new Set<string>();
  readonly retained = new Set<string>();

  constructor(options: PromisesOptions) {
    this.#options = options;
    const report = (promise: string, message: string) => this.#broken(promise, message);
    this.#restarts = new RestartGuard(report);
    this.#lists = new ListGuard(report);
  }

  get writes(): readonly ServiceWrite[] {
    return this.#writes;
  }

  /** A Compute changed, by whomever. */
  computeChanged(before: KubeObject | undefined, after: KubeObject | undefined, byOperator: boolean): void {
    const compute = after ?? before;
    if (compute === undefined) return;
    const { uid } = compute.metadata;
    const now = this.#now();
    if (specOf(compute)["adopt"] !== undefined) this.#everToldToAdopt.add(uid);
    this.#known.set(uid, { compute, until: after === undefined ? now : Number.POSITIVE_INFINITY });
    if (before === undefined || specOf(before)["deletionPolicy"] !== specOf(compute)["deletionPolicy"]) {
      this.#policySince.set(uid, now);
    }
    const mark = createMarkOf(compute);
    if (mark !== undefined && this.#markedAt.get(uid)?.since !== mark.since) {
      this.#markedAt.set(uid, { since: mark.since, at: now });
    }
    const linked = linkedID(compute);
    if (byOperator && after !== undefined) this.#checkAdoption(before, after);
    if (linked !== undefined) this.#claim(linked, uid);
    const dropped = hasFinalizer(before) && !hasFinalizer(after);
    if (dropped && !byOperator) this.letGoByPerson.add(uid);
    if (after === undefined && specOf(compute)["deletionPolicy"] === "Retain") this.retained.add(uid);
  }

  /** When the mark of a Compute's pending create was set. */
  markedAt(uid: string): number | undefined {
    return this.#markedAt.get(uid)?.at;
  }

  sent(write: ServiceWrite): void {
    this.#writes.push(write);
    this.#lists.sent(write);
    const { target } = write;
    if (target === undefined) return;
    const claimants = this.#claimants(target);
    if (claimants.length === 0) {
      this.#broken(
        "no stranger's endpoint",
        `${write.kind} of ${target.id}, which no Compute owns, adopts or is linked to`,
      );
    }
    if (write.kind === "delete") this.#checkDelete(target);
    if (write.kind === "restart") this.#restarts.sent(write, claimants);
  }

  /** A complete list of a project's endpoints reached a process. */
  listed(process: string, project: string, begunAt: number): void {
    this.#lists.listed(process, project, begunAt);
  }

  carriedOut(write: ServiceWrite): void {
    if (write.kind !== "create" || write.carriedOut?.status !== 201) return;
    const made = this.#options.endpoints().find(({ id }) => id === write.endpointID);
    const uid = uidOfMarker(made?.name);
    if (made === undefined || uid === undefined) {
      this.#broken("never a stranger", `created ${write.endpointID} without the mark of a Compute`);
      return;
    }
    this.#claim(made.id, uid);
    const twins = this.#options.endpoints().filter(({ name }) => name === made.name);
    const held = this.#writes.some(
      (other) => other.kind === "create" && other.beyondSettle && markOf(other) === made.name,
    );
    if (twins.length > 1 && !held) {
      this.#broken(
        "never twice",
        `${twins.map(({ id }) => id).join(" and ")} were made for one Compute, ${this.#nameOf(uid)}`,
      );
    }
  }

  clusterWritten(write: ClusterWrite): void {
    const { process, resource, before, after } = write;
    this.#restarts.clusterWritten(write);
    if (before === undefined) return;
    const kept = after?.metadata.finalizers ?? [];
    const removed = (before.metadata.finalizers ?? []).filter((name) => !kept.includes(name));
    const strange = removed.filter((name) => name !== endpointFinalizer && name !== inUseFinalizer);
    if (strange.length > 0) {
      this.#broken("finalizers", `${process} took ${strange.join(", ")} off ${resource} ${before.metadata.name}`);
    }
    if (!removed.includes(endpointFinalizer)) return;
    if (!isDeleting(before)) {
      this.#broken(
        "finalizers",
        `${process} dropped the finalizer of ${before.metadata.name}, which is not being deleted`,
      );
    } else if (specOf(before)["deletionPolicy"] !== "Retain") {
      const left = this.#options.endpoints().filter(({ name }) => name === markerOf(before.metadata.uid));
      for (const { id } of left) {
        this.#broken("finalizers", `${process} let ${before.metadata.name} go while its endpoint ${id} stands`);
      }
    }
  }

  /** An operator links a Compute only to what carries its mark, what it is told to adopt, and what it was linked to. */
  #checkAdoption(before: KubeObject | undefined, after: KubeObject): void {
    const { uid, name } = after.metadata;
    const id = annotationOf(after, "endpoint-id");
    if (id === undefined || id === (before && annotationOf(before, "endpoint-id"))) return;
    const endpoint = this.#options.endpoints().find((one) => one.id === id);
    if (endpoint === undefined || this.#claimed.get(id)?.has(uid) === true || isOurs(after, endpoint)) return;
    if (this.#everToldToAdopt.has(uid)) return;
    this.#broken("adoption", `${name} was linked to ${id}, which it was never told to adopt`);
  }

  #checkDelete(target: StoredEndpoint): void {
    const known = this.#knownLately();
    const maker = known.filter(({ compute }) => target.name === markerOf(compute.metadata.uid));
    const owners = maker.length > 0 ? maker : known.filter(({ compute }) => hasAdopted(compute, target));
    if (owners.length === 0) {
      this.#broken("never another's", `delete of ${target.id}, which is linked by an annotation at most`);
    }
    // Of several that adopted one endpoint, the one that goes takes it along.
    const leaving = owners.filter(({ compute, until }) => until < Number.POSITIVE_INFINITY || isDeleting(compute));
    for (const { compute } of leaving.length > 0 ? leaving : owners) {
      const { uid } = compute.metadata;
      const twins = this.#options.endpoints().filter(({ name }) => name === markerOf(uid));
      const living = this.#known.get(uid)?.until === Number.POSITIVE_INFINITY && !isDeleting(compute);
      const linked = linkedID(compute);
      const hasAnother = linked !== target.id && this.#options.endpoints().some(({ id }) => id === linked);
      if (living && twins.length < 2 && !hasAnother) {
        this.#broken("never lost", `delete of ${target.id} while its Compute ${compute.metadata.name} is to be`);
      }
      const since = this.#policySince.get(uid) ?? 0;
      if (specOf(compute)["deletionPolicy"] === "Retain" && !living && this.#now() - since > goodFaithMs) {
        this.#broken("never lost", `delete of ${target.id} though ${compute.metadata.name} says Retain`);
      }
    }
  }

  #claimants(target: StoredEndpoint): KubeObject[] {
    const ever = this.#claimed.get(target.id) ?? new Set();
    return this.#knownLately()
      .filter(({ compute }) => isOurs(compute, target) || ever.has(compute.metadata.uid) || adopts(compute, target))
      .map(({ compute }) => compute);
  }

  #knownLately(): { compute: KubeObject; until: number }[] {
    const now = this.#now();
    return [...this.#known.values()].filter(({ until }) => until + goodFaithMs >= now);
  }

  #claim(endpointID: string, uid: string): void {
    const uids = this.#claimed.get(endpointID) ?? new Set<string>();
    this.#claimed.set(endpointID, uids.add(uid));
  }

  #nameOf(uid: string): string {
    return this.#known.get(uid)?.compute.metadata.name ?? uid;
  }

  #now(): number {
    return this.#options.clock.monotonic();
  }

  #broken(promise: string, message: string): void {
    this.violations.push({ promise, message, atMs: this.#now() });
  }

  /** Uids of Computes for which a create came in when the Compute was long gone: nobody could know of it. */
  createdTooLate(): string[] {
    return this.#writes
      .filter(({ kind, beyondSettle, carriedOut }) => kind === "create" && beyondSettle && carriedOut?.status === 201)
      .map((write) => uidOfMarker(markOf(write)))
      .filter((uid) => uid !== undefined)
      .filter((uid) => this.#known.get(uid)?.until !== Number.POSITIVE_INFINITY);
  }

  /** Drops what is of no use any more after so long: of writes that ended, and Computes that were gone, before that. */
  forget(before: number): void {
    const kept = this.#writes.filter(({ sentAt, carriedOut }) => (carriedOut?.at ?? sentAt) >= before);
    this.#writes.splice(0, this.#writes.length, ...kept);
    this.#restarts.forget(before);
    this.#lists.forget(before);
    for (const [uid, { until }] of this.#known) {
      if (until >= before) continue;
      this.#known.delete(uid);
      this.#policySince.delete(uid);
      this.#markedAt.delete(uid);
      this.#everToldToAdopt.delete(uid);
    }
    const standing = new Set(this.#options.endpoints().map(({ id }) => id));
    for (const id of this.#claimed.keys()) if (!standing.has(id)) this.#claimed.delete(id);
  }

  /** For the promises that others check. */
  report(promise: string, message: string): void {
    this.#broken(promise, message);
  }
}

function hasFinalizer(compute: KubeObject | undefined): boolean {
  return compute?.metadata.finalizers?.includes(endpointFinalizer) ?? false;
}

/** Whether a Compute took an endpoint over: a move since then does not undo that. */
function hasAdopted(compute: KubeObject, target: StoredEndpoint): boolean {
  return specOf(compute)["adopt"] !== undefined && linkedID(compute) === target.id;
}
