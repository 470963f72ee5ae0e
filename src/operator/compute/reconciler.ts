import type { EndpointLister } from "../connection/endpoint-lister.ts";
import type { ConnectionView } from "../connection/registry.ts";
import type { Secret } from "../connection/resolve.ts";
import { isNotFound, isTestFailed } from "../kube/errors.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import type { Fleet } from "../resources/signature.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import { Cleanup, type CleanupOptions } from "./cleanup/cleanup.ts";
import { accessTo, type ListerAccess } from "./execute/context.ts";
import { refusedPatch } from "./execute/deferred.ts";
import { execute } from "./execute/execute.ts";
import { type Annotations, annotationsOf, isPaused } from "./observe/annotations.ts";
import { interestsOf } from "./observe/interests.ts";
import { hasFinalizer, isBeingDeleted, type Subject } from "./observe/observation.ts";
import { observe } from "./observe/observe.ts";
import type { Outcome } from "./outcome.ts";
import { type Action, isWrite, noop, sendsSpec } from "./plan/action.ts";
import { plan } from "./plan/plan.ts";
import { handOverForMs } from "./remembered.ts";
import { type BindTools, bind } from "./secret/bind.ts";
import { ReconcileState } from "./state.ts";
import { withUnreadable } from "./status/conditions.ts";
import { released } from "./status/messages/deletion.ts";
import { endpointAfter, updateStatus } from "./update-status.ts";

export interface ComputeReconcilerOptions extends CleanupOptions, Pick<BindTools, "awaitsPool"> {
  cache: {
    computeByUID(uid: string): Compute | undefined;
    /** `undefined`: there is no right to read them. */
    connectionSecrets(namespace: string): readonly Secret[] | undefined;
  };
  /** Whether this process reconciles the Compute, by its selector. */
  selects: (compute: Compute) => boolean;
  /** Whether this process takes nothing more on. */
  isStopping: () => boolean;
  fleet: Fleet | undefined;
  onStep?: (action: Action, compute: Compute, outcome: Outcome) => void;
}

/** A Compute that its pool is about to change is reconciled again after this long, in milliseconds, if it is not. */
const poolAwaitedMs = 10_000;

/** A Compute that the API server no longer has, though the cache does, is asked for again after this long, in ms. */
const standingAgainMs = 5000;

/** One reconcile of one Compute: observe, plan, execute, update the status. */
export class ComputeReconciler {
  readonly #options: ComputeReconcilerOptions;
  readonly #states = new Map<string, ReconcileState>();
  readonly #listers = new Map<string, EndpointLister>();
  /** Computes that the cache has, but that the API server, at a patch, did not find or not as the cache has them. */
  readonly #doubted = new Set<string>();
  readonly #cleanup: Cleanup;
  readonly #binding: BindTools;
  #relistedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ComputeReconcilerOptions) {
    this.#options = options;
    this.#cleanup = new Cleanup(options);
    this.#binding = { ...options, ours: (namespace) => options.cache.connectionSecrets(namespace) };
  }

  /** The Compute came under the selector then. */
  entered(uid: string, at: number): void {
    this.#stateOf(uid).entered(at);
  }

  /** A newer version of a Compute is known. */
  changed(compute: Compute, previous: Compute | undefined): void {
    // Dropped before a reconcile saw it, as where a Compute enters a shard and is replaced in one go.
    if (previous !== undefined && !hasFinalizer(compute) && this.#options.selects(compute)) {
      this.#stateOf(compute.metadata.uid).saw(annotationsOf(previous), this.#options.clock.monotonic());
    }
  }

  /** A Compute is gone. */
  gone(last: Compute): void {
    const state = this.#states.get(last.metadata.uid);
    if (state !== undefined) this.#cleanup.gone(last, state);
  }

  /** Deleted Computes that need their connection for what they left. */
  get awaitingCleanup(): Compute[] {
    return this.#cleanup.all;
  }

  /** The last known version of one of them. */
  deletedCompute(uid: string): Compute | undefined {
    return this.#cleanup.of(uid);
  }

  /**
   * A complete list of the API server came in, and may hide a gap: no plan is acted on from before it. What is known of
   * writes stays: those to the API server are in the store, those to the service in each state.
   */
  relisted(): void {
    const now = this.#options.clock.monotonic();
    this.#relistedAt = now;
    for (const state of this.#states.values()) state.needListAfter(now);
  }

  async reconcile(uid: string): Promise<Reconciled> {
    const compute = this.#options.cache.computeByUID(uid);
    if (compute === undefined) {
      this.#forget(uid);
      return this.#cleanup.reconcile(uid);
    }
    this.#cleanup.back(uid);
    if (!this.#options.selects(compute)) {
      this.#forget(uid);
      return {};
    }
    const state = this.#stateOf(uid);
    const now = this.#options.clock.monotonic();
    const annotations = annotationsOf(compute);
    state.saw(annotations, now);
    const handOverMs = handOverForMs(state.known, now);
    if (handOverMs > 0) return { requeueAfterMs: handOverMs };
    const connection = this.#options.connections.view(compute);
    const lister = this.#join(compute, annotations, connection);
    const { brake, claims, createSettleMs, fleet } = this.#options;
    const access = lister && accessTo(lister, compute, brake, () => this.#isOutdated(compute));
    const subject = { compute, annotations, claimants: claims.claimantsOf(compute), now, createSettleMs, fleet };
    try {
      return await this.#reconcile(subject, state, connection, access);
    } catch (error) {
      if (isNotFound(error) || isTestFailed(error)) this.#doubted.add(uid);
      throw error;
    } finally {
      access?.gate.end();
    }
  }

  async #reconcile(
    subject: Subject,
    state: ReconcileState,
    connection: ConnectionView,
    access: ListerAccess | undefined,
  ): Promise<Reconciled> {
    const { clock, cluster, signal, uninstalling } = this.#options;
    const { compute, annotations } = subject;
    state.begin(annotations, isListed(subject, state, access?.lister), subject.now);
    const observed = await observe(subject, state.known, connection, access);
    if (observed.kind === "observed") state.listed(observed);
    const action = await this.#overruled(plan(observed, state.known), compute);
    if (isWrite(action) && !(await this.#stands(compute))) return { requeueAfterMs: standingAgainMs };
    const context = { compute, annotations, cluster, clock, state, signal, uninstalling, access };
    const executed = await execute(action, context).catch((error: unknown) => refusedPatch(error, compute));
    const bound = await bind(executed, observed, access, state, this.#binding);
    const endpoint = endpointAfter(bound.outcome, observed);
    const outcome = withUnreadable(bound.outcome, endpoint, state);
    const operations = access?.lister.operations;
    const id = endpoint?.id ?? "";
    state.expectResult(operations?.showsResultAt(id), operations?.followed.isBusyWith(id) === true);
    const reported = await updateStatus(outcome, observed, bound, { ...this.#options, state });
    state.reported(reported.status);
    if (outcome.condition.kind === "released") state.released();
    this.#options.onStep?.(action, reported, outcome);
    return { requeueAfterMs: state.requeueAfter(outcome, clock.monotonic()) };
  }

  /** Word that a Compute is gone, or replaced, may come late: the API server is asked before anything is sent. */
  async #stands({ metadata }: Compute): Promise<boolean> {
    if (!this.#doubted.has(metadata.uid)) return true;
    const standing = await this.#options.cluster.get(computeKind, metadata);
    if (standing?.metadata.uid !== metadata.uid) return false;
    this.#doubted.delete(metadata.uid);
    return true;
  }

  /** A pool undoes an edit of its member before it is sent; once the CRD itself goes, every Compute is let go. */
  async #overruled(action: Action, compute: Compute): Promise<Action> {
    if (sendsSpec(action) && this.#options.awaitsPool(compute)) return noop(poolAwaitedMs);
    if (action.kind !== "wait" || action.reason === "Deleting" || !isBeingDeleted(compute)) {
      return action;
    }
    if (!(await this.#options.uninstalling.now(compute))) return action;
    return { kind: "release", event: "Released", message: released.uninstalling(undefined) };
  }

  /** Joins the lister of the Compute's project, and leaves the previous one if that is another. */
  #join(compute: Compute, annotations: Annotations, connection: ConnectionView): EndpointLister | undefined {
    const { uid } = compute.metadata;
    const before = this.#listers.get(uid);
    const lister = connection.kind === "open" ? connection.session.project(compute.spec.projectID) : undefined;
    if (before !== lister) before?.leave(uid);
    if (lister === undefined) {
      this.#listers.delete(uid);
      return undefined;
    }
    this.#listers.set(uid, lister);
    lister.use(uid, annotations.recordedID, interestsOf(compute, annotations), compute.metadata.namespace);
    return lister;
  }

  /** Whether a write that was planned for this version is no longer wanted: it may have waited since. */
  #isOutdated({ metadata }: Compute): boolean {
    const newest = this.#options.cache.computeByUID(metadata.uid);
    if (newest === undefined) return true;
    if (newest.metadata.generation !== metadata.generation || isPaused(newest)) return true;
    return !this.#options.connections.isGranted(newest);
  }

  #stateOf(uid: string): ReconcileState {
    const now = this.#options.clock.monotonic();
    const state = this.#states.get(uid) ?? new ReconcileState(now, { firstListAfter: this.#relistedAt });
    this.#states.set(uid, state);
    return state;
  }

  #leave(uid: string): void {
    this.#listers.get(uid)?.leave(uid);
    this.#listers.delete(uid);
  }

  #forget(uid: string): void {
    if (this.#cleanup.of(uid) === undefined) this.#options.brake.leave(uid);
    this.#leave(uid);
    this.#states.delete(uid);
    this.#doubted.delete(uid);
  }
}

/**
 * Whether a requeue that is due needs no list of its own: one is expected, or shows already what was waited for. An
 * endpoint that is missing is looked for at once: the end of its operations may never be seen.
 */
function isListed({ compute, annotations }: Subject, { known }: ReconcileState, lister?: EndpointLister): boolean {
  const { recordedID = "" } = annotations;
  if (lister === undefined) return false;
  if (lister.isExpected(compute.metadata.uid, known.missing === undefined ? recordedID : undefined)) return true;
  const listedAt = lister.observed?.startedAt;
  if (known.wasBusy !== true || listedAt === undefined) return false;
  return lister.operations.followed.wereOverBefore(recordedID, listedAt);
}
