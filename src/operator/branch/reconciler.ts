import type { SessionRegistry } from "../connection/registry.ts";
import { Life } from "../life/life.ts";
import { isRetained } from "../objects/deletion-policy.ts";
import { isBeingDeleted, isHeldBy } from "../objects/object.ts";
import type { Brake } from "../project/gate.ts";
import { type Branch, branchNameOf } from "../resources/branch.ts";
import { isObserved } from "../resources/management-policy.ts";
import { finalizers } from "../resources/names.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import type { ChangeBlockedWorkers } from "../service-client/request-reservation.ts";
import { begin } from "./begin.ts";
import { type BranchKindOptions, type BranchTypes, branchKindOf } from "./kind.ts";
import { newMemory } from "./memory.ts";
import { linkedID, type Subject } from "./observation.ts";
import { interestOf } from "./observe.ts";
import { ownedCompute } from "./owned-compute.ts";
import { isOutsider, mayMeet } from "./plan/claims.ts";
import { renewalInMs } from "./plan/expiry.ts";
import { mayHaveMade } from "./record.ts";
import * as words from "./words.ts";

export interface BranchReconcilerOptions extends BranchKindOptions {
  connections: SessionRegistry;
  /** `--max-branch-deletes-per-minute`. */
  brake: Brake;
  changeBlockedWorkers: ChangeBlockedWorkers;
  createSettleMs: number;
  cache: BranchKindOptions["cache"] & {
    branchByUID(uid: string): Branch | undefined;
    /** The Branches that may want the same branch as this one. */
    near(object: Branch): Iterable<Branch>;
    /** The names of Computes of the namespace that use a Branch and that it does not own. */
    usersOf(object: Branch): readonly string[];
  };
  /** True if this process reconciles the Branch, by its selector. */
  selects: (object: Branch) => boolean;
}

/** Reconciles Branches. */
export class BranchReconciler {
  readonly #options: BranchReconcilerOptions;
  readonly #life: Life<BranchTypes>;

  constructor(options: BranchReconcilerOptions) {
    this.#options = options;
    const { cache, clock, connections } = options;
    this.#life = new Life({
      ...options,
      kind: branchKindOf(options),
      newest: (uid) => cache.branchByUID(uid),
      remember: ({ now, relistedAt, object }) =>
        newMemory(now, Math.max(now, relistedAt), object !== undefined && hasFinalizer(object)),
      given: (object, _, now) => ({ subject: this.#subjectOf(object, now), connection: connections.view(object) }),
      use: (lister, object) => {
        const { uid, namespace } = object.metadata;
        lister.use(uid, undefined, undefined, namespace);
        lister.branches.watch(uid, interestOf(object));
      },
      begin: ({ memory, object }, now) => begin(memory, object, now),
      latest: (observed) => {
        const now = clock.monotonic();
        const isGoing = observed.kind !== "observed" || isBeingDeleted(observed.object);
        const renewal = isGoing ? undefined : renewalInMs(observed);
        // The renewal of a lease needs no list of its own.
        return renewal === undefined ? Number.POSITIVE_INFINITY : now + Math.max(1000, renewal);
      },
    });
  }

  relisted(): void {
    this.#life.memories.relisted((memory, at) => {
      memory.listsAfter = at;
    });
  }

  /** A Branch is gone. One that lost our finalizer by a person's hand leaves its branch, which an event names. */
  gone(last: Branch): void {
    const { uid } = last.metadata;
    const memory = this.#life.memories.known(uid);
    this.#life.memories.forget(uid);
    if (memory === undefined || memory.isReleased || isRetained(last)) return;
    const id = linkedID(last);
    const isOurs =
      last.status.proof?.uid === uid && last.status.proof.branchID === id && last.status.proof.by !== "adopted";
    const isLeft = id !== undefined && isOurs && memory.deleted?.id !== id;
    if (!isLeft && !mayHaveMade(memory)) return;
    const message = words.released.leftBehind(isLeft ? id : branchNameOf(last), last.status.expiresAt);
    this.#options.event(last, { type: "Warning", reason: "Released", message });
  }

  reconcile(uid: string): Promise<Reconciled> {
    const object = this.#options.cache.branchByUID(uid);
    const isWaiting = object !== undefined && this.#options.selects(object) && isReleased(object);
    if (!isWaiting) return this.#life.reconcile(uid);
    this.#life.leave(uid);
    return Promise.resolve({});
  }

  #subjectOf(object: Branch, now: number): Subject {
    const { cache, createSettleMs, fleet, connections, storedSpecs } = this.#options;
    const { uid } = object.metadata;
    const { projectID } = object.spec;
    const baseURL = connections.baseURLOf(object);
    const isOther = (other: Branch) =>
      other.metadata.uid !== uid &&
      !isObserved(other) &&
      other.spec.projectID === projectID &&
      mayMeet(object, other) &&
      connections.baseURLOf(other) === baseURL &&
      !isOutsider(other, object, connections);
    return {
      object,
      now,
      createSettleMs,
      fleet,
      others: [...cache.near(object)].filter(isOther),
      lives: (other) => cache.branchByUID(other) !== undefined,
      usedBy: isBeingDeleted(object) ? cache.usersOf(object) : [],
      compute: ownedCompute(object, cache.compute(object), storedSpecs),
    };
  }
}

function hasFinalizer(object: Branch): boolean {
  return isHeldBy(object, finalizers.branch);
}

/** True for an object that goes, and waits for others only. */
function isReleased(object: Branch): boolean {
  return isBeingDeleted(object) && !hasFinalizer(object);
}
