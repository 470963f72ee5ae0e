import type { Clock } from "../../../src/operator/runtime/clock.ts";
import type { StoredEndpoint } from "../../../src/service/store/endpoints.ts";
import { isJsonObject, type KubeObject } from "../api-server/objects.ts";
import type { AccessGuard } from "./access-guard.ts";
import {
  branchFinalizer,
  endpointFinalizer,
  inUseFinalizer,
  isDeleting,
  linkedID,
  specOf,
  statusOf,
  uidInSignature,
} from "./computes.ts";
import type { ClusterWrite } from "./records.ts";
import { goodFaithMs, isRetained, type Known, onTheWayMs, type Register } from "./register.ts";
import type { Services } from "./services.ts";

/** Nothing is deleted that is to be, and nothing let go that is still needed. */
export class DeletionGuard {
  readonly #clock: Clock;
  readonly #register: Register;
  readonly #services: Services;
  /** When each process was last stopped, and for how long. */
  readonly #stops = new Map<string, { until: number; ms: number }>();
  /** Whether nobody could know that an endpoint is a Compute's. */
  readonly #unseen: (endpointID: string, uid: string) => boolean;
  readonly #access: AccessGuard;
  readonly #report: (promise: string, message: string) => void;

  constructor(
    {
      clock,
      register,
      services,
      unseen,
      access,
    }: {
      clock: Clock;
      register: Register;
      services: Services;
      unseen: (endpointID: string, uid: string) => boolean;
      access: AccessGuard;
    },
    report: (promise: string, message: string) => void,
  ) {
    this.#clock = clock;
    this.#register = register;
    this.#services = services;
    this.#unseen = unseen;
    this.#access = access;
    this.#report = report;
  }

  woken(process: string, stoppedMs: number): void {
    this.#stops.set(process, { until: this.#clock.monotonic(), ms: stoppedMs });
  }

  /** A DELETE leaves for the service. */
  sent(target: StoredEndpoint): void {
    const known = this.#register.knownLately();
    const made = this.#register.makerOf(target);
    const maker = made === undefined ? [] : [made];
    const adopters = known.filter(({ compute }) => hasAdopted(compute, target));
    // What is left behind belongs to the Compute that took it over since.
    const standing = (ones: readonly Known[]) => ones.filter(({ until }) => until === Number.POSITIVE_INFINITY);
    // Its operator may not have heard yet that the one before went, and is still deleting for that one.
    const hasLeft = adopters.some(({ compute, until }) => isDeleting(compute) && until < Number.POSITIVE_INFINITY);
    const tookOver = standing(adopters).filter(
      ({ compute }) => !hasLeft || statusOf(compute)["endpointID"] === target.id,
    );
    const owners = [standing(maker), tookOver, maker, adopters].find((ones) => ones.length > 0) ?? [];
    if (owners.length === 0) {
      this.#report("never another's", `delete of ${target.id}, which is linked by an annotation at most`);
    }
    // Of several that adopted one endpoint, the one that goes takes it along.
    const leaving = owners.filter(({ compute, until }) => until < Number.POSITIVE_INFINITY || isDeleting(compute));
    const wrong = (leaving.length > 0 ? leaving : owners).map((owner) => this.#wrongFor(owner, target));
    if (leaving.length > 0 && wrong.some((complaints) => complaints.length === 0)) return;
    for (const [promise, message] of wrong.flat()) this.#report(promise, message);
  }

  /** What speaks against a deletion for this Compute, each with the promise that it breaks. */
  #wrongFor({ compute, policySince, deletingSince }: Known, target: StoredEndpoint): [string, string][] {
    const wrong: [string, string][] = [];
    const { uid, name } = compute.metadata;
    const beside = this.#services.endpointsBeside(target.id);
    const twins = beside.filter((endpoint) => uidInSignature(endpoint.name) === uid);
    const living = this.#register.isLiving(uid);
    const linked = linkedID(compute);
    const since = this.#clock.monotonic() - goodFaithMs;
    // One that was deleted outside the operator just now may still be in the last list.
    const stands = (id: string) => beside.some((one) => one.id === id) || this.#services.wasDeletedSince(id, since);
    const hasAnother = linked !== undefined && linked !== target.id && stands(linked);
    if (living && twins.length < 2 && !hasAnother) {
      wrong.push(["never lost", `delete of ${target.id} while its Compute ${name} is to be`]);
    }
    // One too many is deleted for a Compute that is to be, as far as its operator knows.
    const isDuplicate = twins.length > 1 && linked !== target.id && this.#ago(deletingSince ?? 0) < goodFaithMs;
    const retains = specOf(compute)["deletionPolicy"] === "Retain" && this.#ago(policySince) > goodFaithMs;
    if (retains && !living && !isDuplicate) {
      wrong.push(["never lost", `delete of ${target.id} though ${name} says Retain`]);
    }
    // What the world began with was made by no Compute.
    if (specOf(compute)["deletionPolicy"] === undefined && target.id.startsWith("ep-seed-")) {
      wrong.push(["never lost", `delete of ${target.id}, which ${name} adopted, though no policy says so`]);
    }
    if (this.#register.uninstalled.has(uid) && this.#wentWithDefinition(deletingSince) && !isDuplicate) {
      wrong.push(["uninstalling deletes nothing", `delete of ${target.id} while the CRD of ${name} is being deleted`]);
    }
    return wrong;
  }

  /** Whether a Compute was deleted only because its definition was. */
  #wentWithDefinition(deletingSince: number | undefined): boolean {
    const { uninstallingSince } = this.#register;
    return uninstallingSince !== undefined && deletingSince !== undefined && deletingSince >= uninstallingSince;
  }

  /** An operator changed something in the cluster. */
  clusterWritten({ process, resource, before, after }: ClusterWrite): void {
    if (before === undefined) return;
    const kept = after?.metadata.finalizers ?? [];
    const removed = (before.metadata.finalizers ?? []).filter((name) => !kept.includes(name));
    const expected = resource === "branches" ? [branchFinalizer] : [endpointFinalizer, inUseFinalizer];
    const strange = removed.filter((name) => !expected.includes(name));
    if (strange.length > 0) {
      this.#report("finalizers", `${process} took ${strange.join(", ")} off ${resource} ${before.metadata.name}`);
    }
    if (removed.includes(endpointFinalizer)) this.#checkLetGo(process, before);
    if (removed.includes(inUseFinalizer)) this.#checkUnguarded(process, resource, before);
  }

  #checkLetGo(process: string, compute: KubeObject): void {
    const { uid, name } = compute.metadata;
    if (!isDeleting(compute)) {
      this.#report("finalizers", `${process} dropped the finalizer of ${name}, which is not being deleted`);
      return;
    }
    if (isRetained(compute) || this.#register.uninstalled.has(uid)) return;
    const own = this.#services.endpoints().filter((endpoint) => uidInSignature(endpoint.name) === uid);
    const kept = own.filter((endpoint) => keepsAdopted(compute, endpoint));
    if (kept.length > 0) this.#register.retained.add(uid);
    const others = own.filter((endpoint) => !kept.includes(endpoint));
    for (const { id } of others.filter((one) => !this.#isGivenUp(one, uid) && !this.#unseen(one.id, uid))) {
      this.#report("finalizers", `${process} let ${name} go while its endpoint ${id} stands`);
    }
  }

  /** Whether an endpoint stands at another service, and a person had its Compute go on without. */
  #isGivenUp({ id }: StoredEndpoint, uid: string): boolean {
    if (this.#services.isHere(id)) return false;
    const askedAt = this.#register.get(uid)?.askedAt;
    return askedAt !== undefined && askedAt >= this.#services.firstEditedAt;
  }

  /** The connection and its Secret are needed as long as a Compute uses them. */
  #checkUnguarded(process: string, resource: string, { metadata }: KubeObject): void {
    const stop = this.#stops.get(process);
    const stoppedMs = stop !== undefined && this.#ago(stop.until) < onTheWayMs ? stop.ms : 0;
    // Lists that prove it unused come first, and then the patch: each is on its way as long.
    const isOld = (at: number) => this.#ago(at) > 2 * onTheWayMs + stoppedMs;
    const users = this.#register
      .knownLately()
      .filter(({ until, since }) => until === Number.POSITIVE_INFINITY && isOld(since));
    for (const { compute, throughSince } of users) {
      // Without access a Compute is a user only if it was linked before, by its status: people can type annotations.
      const wasLinked = statusOf(compute)["clusterConnection"] !== undefined && isOld(throughSince ?? 0);
      if (this.#access.wasClosed(onTheWayMs + stoppedMs) && !wasLinked) continue;
      this.#report(
        "finalizers",
        `${process} let ${resource} ${metadata.name} go while ${compute.metadata.name} uses it`,
      );
    }
  }

  #ago(at: number): number {
    return this.#clock.monotonic() - at;
  }
}

/** Whether a Compute took an endpoint over: a move since then does not undo that. */
function hasAdopted(compute: KubeObject, target: StoredEndpoint): boolean {
  const { adopt } = specOf(compute);
  return isJsonObject(adopt) && adopt["former"] === undefined && linkedID(compute) === target.id;
}

/** Whether a person named an endpoint that a Compute took over, and no policy says that it goes: then it stays. */
function keepsAdopted(compute: KubeObject, target: StoredEndpoint): boolean {
  return specOf(compute)["deletionPolicy"] === undefined && hasAdopted(compute, target);
}
