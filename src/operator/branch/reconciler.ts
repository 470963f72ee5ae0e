import type { ConnectionView, SessionRegistry } from "../connection/registry.ts";
import type { ClusterClient } from "../kube/client.ts";
import type { EventInput } from "../kube/event-record.ts";
import { isRetained } from "../life/deletion-policy.ts";
import { nextDue, untilDue } from "../life/due.ts";
import type { Stop } from "../life/guard.ts";
import { JoinedListers } from "../life/joined-listers.ts";
import { onError } from "../life/on-error.ts";
import { after } from "../life/outcome.ts";
import { withStatus } from "../life/patching.ts";
import { transition } from "../life/report.ts";
import { clippedMessage, shownReason } from "../objects/conditions-of.ts";
import { isBeingDeleted, isHeldBy } from "../objects/object.ts";
import type { ListerAccess } from "../project/access.ts";
import type { Brake } from "../project/gate.ts";
import { type Branch, branchKind, branchNameOf, owningBranch } from "../resources/branch.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { finalizers } from "../resources/names.ts";
import type { Clock } from "../runtime/clock.ts";
import { shortlyMs, soonMs } from "../runtime/waits.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import type { ChangeBlockedWorkers } from "../service-client/request-reservation.ts";
import type { BranchAction } from "./action.ts";
import { branchPatches, computeRefused, execute, restoreFinalizer } from "./execute.ts";
import { guarded } from "./guard.ts";
import { type ComputeStep, linkedID, type Subject } from "./observation.ts";
import { interestOf, observe } from "./observe.ts";
import { type Outcome, shown } from "./outcome.ts";
import { carryOut, ownedCompute, type StoredSpecs } from "./owned-compute.ts";
import type { BranchParts } from "./parts.ts";
import { isOutsider, mayMeet } from "./plan/claims.ts";
import { fallsFreeSoon, isLate, renewalInMs } from "./plan/expiry.ts";
import { branchReasons } from "./reasons.ts";
import { mayHaveMade } from "./record.ts";
import { begin, noteList } from "./remember.ts";
import { type BranchMemory, newMemory } from "./state.ts";
import { nextStatus } from "./status.ts";
import * as words from "./words.ts";

export interface BranchReconcilerOptions {
  parts: BranchParts;
  cluster: ClusterClient;
  clock: Clock;
  connections: SessionRegistry;
  event: (object: Branch, record: EventInput) => void;
  computeEvent: (compute: Compute, record: EventInput) => void;
  /** `--max-branch-deletes-per-minute`. */
  brake: Brake;
  changeBlockedWorkers: ChangeBlockedWorkers;
  /** Asks the API server whether the CRD of Branches is being deleted, or gone. */
  uninstalling: () => Promise<boolean>;
  createSettleMs: number;
  /** `--fleet`. */
  fleet: string | undefined;
  signal: AbortSignal;
  cache: {
    branchByUID(uid: string): Branch | undefined;
    /** The Branches that may want the same branch as this one. */
    near(object: Branch): Iterable<Branch>;
    /** The names of Computes of the namespace that use a Branch and that it does not own. */
    usersOf(object: Branch): readonly string[];
    /** The Compute of the object's name. */
    compute(object: Branch): Compute | undefined;
  };
  storedSpecs: StoredSpecs;
  /** True if this process reconciles the Branch, by its selector. */
  selects: (object: Branch) => boolean;
  /** The last guard stopped a write. */
  onStop: (stop: Stop, object: Branch) => void;
}

/** One reconcile of one Branch: observe, plan, execute, update the status. */
export class BranchReconciler {
  readonly #options: BranchReconcilerOptions;
  readonly #memories = new Map<string, BranchMemory>();
  readonly #listers: JoinedListers<Branch>;
  #relistedAt = Number.NEGATIVE_INFINITY;

  constructor(options: BranchReconcilerOptions) {
    this.#options = options;
    this.#listers = new JoinedListers({ ...options, newest: (uid) => options.cache.branchByUID(uid) });
  }

  /** A complete list of the API server may hide a gap: no plan is acted on from before it. */
  relisted(): void {
    this.#relistedAt = this.#options.clock.monotonic();
    for (const memory of this.#memories.values()) memory.listsAfter = this.#relistedAt;
  }

  /** A Branch is gone. One that lost our finalizer by a person's hand leaves its branch, which an event names. */
  gone(last: Branch): void {
    const { uid } = last.metadata;
    const memory = this.#memories.get(uid);
    this.#forget(uid);
    if (memory === undefined || memory.isReleased || isRetained(last)) return;
    const id = linkedID(last);
    const isOurs =
      last.status.proof?.uid === uid && last.status.proof.branchID === id && last.status.proof.by !== "adopted";
    const isLeft = id !== undefined && isOurs && memory.deleted?.id !== id;
    if (!isLeft && !mayHaveMade(memory)) return;
    const message = words.released.leftBehind(isLeft ? id : branchNameOf(last), last.status.expiresAt);
    this.#event(last, { type: "Warning", reason: "Released", message });
  }

  async reconcile(uid: string): Promise<Reconciled> {
    const { cache, selects, clock, connections } = this.#options;
    const object = cache.branchByUID(uid);
    if (object !== undefined && selects(object) && isReleased(object)) {
      this.#listers.leave(uid);
      return {};
    }
    if (object === undefined || !selects(object)) {
      this.#forget(uid);
      return {};
    }
    const memory = this.#memoryOf(object);
    begin(memory, object, clock.monotonic());
    const connection = connections.view(object);
    const access = this.#listers.join(object, connection, (lister) => {
      lister.use(uid, undefined, undefined, object.metadata.namespace);
      lister.branches.watch(uid, interestOf(object));
    });
    try {
      return await this.#reconcile(object, memory, connection, access);
    } catch (error) {
      return onError(error, branchKind, object, {
        outdated: () => ({ requeueAfterMs: soonMs }),
      });
    } finally {
      access?.gate.end();
    }
  }

  async #reconcile(
    object: Branch,
    memory: BranchMemory,
    connection: ConnectionView,
    access: ListerAccess | undefined,
  ): Promise<Reconciled> {
    const { parts, cluster, clock, signal, fleet, uninstalling } = this.#options;
    const observed = observe(this.#subjectOf(object), memory, connection, access);
    if (observed.kind === "observed") noteList(memory, observed);
    const overruled = (action: BranchAction) => this.#effectiveAction(action, object);
    const action = await guarded(await overruled(parts.plan(observed, memory)), observed, overruled, this.#options);
    let done: Outcome;
    try {
      const compute = (step: ComputeStep) => this.#carryOut(step, object);
      done = await execute(action, {
        object: await restoreFinalizer(object, cluster),
        memory,
        cluster,
        clock,
        signal,
        fleet,
        access,
        uninstalling,
        ownsStill: () => this.#ownsStill(object),
        compute,
      });
    } catch (error) {
      done = onError(error, branchKind, object, {
        refused: ({ reason, message, error: { message: said }, isOwn }) =>
          action.kind === "compute" && !isOwn
            ? computeRefused(action.step, { reason, said }, { object, memory, clock })
            : shown(object, { reason, message }, { requeue: after(shortlyMs) }),
      });
    }
    // First, since the status may meet a newer version: what was done is told all the same.
    for (const event of done.events) this.#event(done.object, event);
    if (done.condition.kind !== "released") await this.#updateStatus(done, observed, memory);
    return { requeueAfterMs: this.#requeue(done, observed, memory) };
  }

  /** Only a Compute that the object owns is ever deleted. */
  async #carryOut(step: ComputeStep, object: Branch): Promise<void> {
    const { cluster, cache, storedSpecs: stored } = this.#options;
    const existing = cache.compute(object);
    if (step.kind !== "create" && owningBranch(existing ?? object)?.uid !== object.metadata.uid) return;
    const restored = await carryOut(step, object, existing, { cluster, stored });
    if (restored === undefined) return;
    // On the Compute, because it was edited there.
    const message = words.computeRestored(object.metadata.name);
    this.#options.computeEvent(restored, { type: "Normal", reason: "DriftCorrected", message });
  }

  /** The watches of Branches and Computes may lag behind each other. */
  async #ownsStill(object: Branch): Promise<boolean> {
    const { cluster, cache } = this.#options;
    const compute = cache.compute(object);
    const { uid } = object.metadata;
    if (compute === undefined || owningBranch(compute)?.uid !== uid) return true;
    const newest = await cluster.get(computeKind, compute.metadata);
    return newest === undefined || owningBranch(newest)?.uid === uid;
  }

  /** Once the CRD itself goes, every Branch is let go. */
  async #effectiveAction(action: BranchAction, object: Branch): Promise<BranchAction> {
    if (action.kind !== "show" || action.reason === "Paused" || !isBeingDeleted(object)) return action;
    if (!(await this.#options.uninstalling())) return action;
    const message = words.released.uninstalling(object.status.branchID ?? "");
    return { kind: "release", event: "Released", message, isUninstalling: true };
  }

  async #updateStatus(done: Outcome, o: Parameters<typeof nextStatus>[1], memory: BranchMemory): Promise<void> {
    const { cluster, clock } = this.#options;
    const { object, condition } = done;
    const status = nextStatus(done, o, memory, clock.now());
    if (status === undefined) return;
    await withStatus(branchPatches, cluster, status, object);
    const change = transition(shownReason(object), condition, branchReasons, {
      isAnnounced: true,
      events: done.events,
    });
    if (change !== undefined) this.#event(object, change);
  }

  #event(object: Branch, { type, reason, message }: EventInput): void {
    this.#options.event(object, { type, reason, message: clippedMessage(message) });
  }

  #requeue(done: Outcome, o: Parameters<typeof nextStatus>[1], memory: BranchMemory): number | undefined {
    const { condition, object } = done;
    if (condition.kind === "released") return undefined;
    const now = this.#options.clock.monotonic();
    this.#warn(object, memory);
    const row = condition.kind === "shown" ? branchReasons[condition.reason] : undefined;
    memory.requeue = nextDue(done, row, memory.requeue, now);
    const renewal = o.kind === "observed" && !isBeingDeleted(object) ? renewalInMs(o) : undefined;
    // The renewal of a lease needs no list of its own.
    const by = renewal === undefined ? Number.POSITIVE_INFINITY : now + Math.max(1000, renewal);
    return untilDue(done, memory.requeue, now, by);
  }

  /** A lease that ends because it cannot be renewed is a warning, once; so is a taken name that falls free soon. */
  #warn(object: Branch, memory: BranchMemory): void {
    const isFreeSoon = !isBeingDeleted(object) && fallsFreeSoon(object, this.#options.clock.now());
    if (isFreeSoon && !memory.warnedTaken) {
      const message = words.taken.endsSoon(branchNameOf(object), object.status.takenUntil ?? "");
      this.#event(object, { type: "Warning", reason: "BranchExists", message });
    }
    memory.warnedTaken = isFreeSoon;
    const isWarned = !isBeingDeleted(object) && isLate(object, this.#options.clock.now());
    if (isWarned && !memory.warnedLate) {
      const message = words.ends.late(object.status.expiresAt ?? "");
      this.#event(object, { type: "Warning", reason: "LeaseEnding", message });
    }
    memory.warnedLate = isWarned;
  }

  #subjectOf(object: Branch): Subject {
    const { cache, clock, createSettleMs, fleet, connections, storedSpecs } = this.#options;
    const { uid } = object.metadata;
    const { projectID } = object.spec;
    const baseURL = connections.baseURLOf(object);
    const isOther = (other: Branch) =>
      other.metadata.uid !== uid &&
      other.spec.projectID === projectID &&
      mayMeet(object, other) &&
      connections.baseURLOf(other) === baseURL &&
      !isOutsider(other, object, connections);
    return {
      object,
      now: clock.monotonic(),
      createSettleMs,
      fleet,
      others: [...cache.near(object)].filter(isOther),
      lives: (other) => cache.branchByUID(other) !== undefined,
      usedBy: isBeingDeleted(object) ? cache.usersOf(object) : [],
      compute: ownedCompute(object, cache.compute(object), storedSpecs),
    };
  }

  #memoryOf(object: Branch): BranchMemory {
    const { uid } = object.metadata;
    const known = this.#memories.get(uid);
    if (known !== undefined) return known;
    const now = this.#options.clock.monotonic();
    const made = newMemory(now, Math.max(now, this.#relistedAt), hasFinalizer(object));
    this.#memories.set(uid, made);
    return made;
  }

  #forget(uid: string): void {
    this.#listers.leave(uid);
    this.#memories.delete(uid);
  }
}

function hasFinalizer(object: Branch): boolean {
  return isHeldBy(object, finalizers.branch);
}

/** True for an object that goes, and waits for others only. */
function isReleased(object: Branch): boolean {
  return isBeingDeleted(object) && !hasFinalizer(object);
}
