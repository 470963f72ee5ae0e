import { accessTo, type ListerAccess } from "../connection/access.ts";
import type { EndpointLister } from "../connection/endpoint-lister.ts";
import type { Brake } from "../connection/gate.ts";
import type { ConnectionView, SessionRegistry } from "../connection/registry.ts";
import type { Secret } from "../connection/resolve.ts";
import type { ClusterClient } from "../kube/client.ts";
import { isNotFound, isStale } from "../kube/errors.ts";
import type { EventInput } from "../kube/event-record.ts";
import type { Branch } from "../resources/branch.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import { pausedForMs } from "../resources/pause.ts";
import { type Fleet, signatureOf } from "../resources/signature.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Reconciled } from "../runtime/workqueue.ts";
import type { CrdDeletion } from "./execute/context.ts";
import { refusedPatch } from "./execute/deferred.ts";
import { execute } from "./execute/execute.ts";
import { type Annotations, annotationsOf, recordedID } from "./observe/annotations.ts";
import { referredBranch } from "./observe/branch-ref.ts";
import type { ClaimIndex } from "./observe/claim-index.ts";
import { interestsOf } from "./observe/interests.ts";
import { isBeingDeleted, type Subject } from "./observe/observation.ts";
import { observe } from "./observe/observe.ts";
import type { Outcome } from "./outcome.ts";
import { type Action, noop, sendsSpec } from "./plan/action.ts";
import { letGo } from "./plan/delete.ts";
import { plan } from "./plan/plan.ts";
import { handOverForMs } from "./remembered.ts";
import { type BindTools, bind } from "./secret/bind.ts";
import { ReconcileState } from "./state.ts";
import { withUnreadable } from "./status/conditions.ts";
import { endpointAfter, updateStatus } from "./update-status.ts";
import { released } from "./words/deletion.ts";
import { leftBehind } from "./words/events.ts";

export interface ComputeReconcilerOptions extends Pick<BindTools, "awaitsPool"> {
  cluster: ClusterClient;
  clock: Clock;
  /** Names this term of leadership in the records that it writes; random. */
  term: string;
  connections: SessionRegistry;
  claims: ClaimIndex;
  event: (compute: Compute, record: EventInput) => void;
  brake: Brake;
  /** Check for a Compute that is being deleted only because its definition is. */
  uninstalling: CrdDeletion;
  createSettleMs: number;
  signal: AbortSignal;
  cache: {
    computeByUID(uid: string): Compute | undefined;
    /** `undefined`: there is no right to read them. */
    connectionSecrets(namespace: string): readonly Secret[] | undefined;
    branch(namespace: string, name: string): Branch | undefined;
  };
  /** True if this process reconciles the Compute, by its selector. */
  selects: (compute: Compute) => boolean;
  /** True if this process takes nothing more on. */
  isStopping: () => boolean;
  fleet: Fleet | undefined;
  /** An endpoint, by its id or the name that it may bear, was left at the service. */
  onLeftBehind?: (compute: Compute, endpoint: string) => void;
  onStep?: (action: Action, compute: Compute, outcome: Outcome) => void;
}

/** A Compute that its pool is about to change is reconciled again after this long, in milliseconds, if it is not. */
const poolAwaitedMs = 10_000;

/**
 * A version that a patch found outdated is reconciled again after `look`, and left alone until a newer one is stored.
 * The API server is asked for it every `longest`: a conflict may have another cause. In milliseconds.
 */
const outdatedMs = { look: 1000, longest: 10_000 };

/** One reconcile of one Compute: observe, plan, execute, update the status. */
export class ComputeReconciler {
  readonly #options: ComputeReconcilerOptions;
  readonly #states = new Map<string, ReconcileState>();
  readonly #listers = new Map<string, EndpointLister>();
  /** By uid: the stored version that a patch found outdated. Nothing is sent before the store has passed it. */
  readonly #outdated = new Map<string, { version: string | undefined; until: number }>();
  readonly #binding: BindTools;
  #relistedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ComputeReconcilerOptions) {
    this.#options = options;
    this.#binding = { ...options, ours: (namespace) => options.cache.connectionSecrets(namespace) };
  }

  /** The Compute came under the selector then. */
  entered(uid: string, at: number): void {
    this.#stateOf(uid).entered(at);
  }

  /** A newer version of a Compute is known: its record counts from now on, also if the next version drops it. */
  changed(compute: Compute): void {
    if (!this.#options.selects(compute)) return;
    this.#stateOf(compute.metadata.uid).saw(compute, this.#options.clock.monotonic());
  }

  /** A Compute is gone. One that lost our finalizer by a person's hand leaves its endpoint: a person is told which. */
  gone(last: Compute): void {
    const { uid } = last.metadata;
    const state = this.#states.get(uid);
    this.#forget(uid);
    if (state === undefined || state.known.released === true || isRetained(last)) return;
    const endpointID = recordedID(last) ?? state.known.write?.made;
    const isOpen = state.known.write?.phase === "open";
    if (endpointID === undefined && !isOpen) return;
    const left = endpointID ?? signatureOf(last, this.#options.fleet);
    this.#options.event(last, { type: "Warning", reason: "Released", message: leftBehind(left) });
    this.#options.onLeftBehind?.(last, left);
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
    if (compute === undefined || !this.#options.selects(compute)) {
      this.#forget(uid);
      return {};
    }
    const state = this.#stateOf(uid);
    const now = this.#options.clock.monotonic();
    const annotations = annotationsOf(compute, this.#options.clock.now());
    state.saw(compute, now);
    const outdated = this.#outdated.get(uid);
    if (outdated !== undefined && outdated.version === compute.metadata.resourceVersion) {
      if (now < outdated.until || !(await this.#stands(compute))) return { requeueAfterMs: outdatedMs.look };
    }
    this.#outdated.delete(uid);
    const handOverMs = handOverForMs(state.known, now);
    if (handOverMs > 0) return { requeueAfterMs: handOverMs };
    const connection = this.#options.connections.view(compute);
    const lister = this.#join(compute, annotations, connection);
    const { brake, claims, createSettleMs, fleet } = this.#options;
    const access = lister && accessTo(lister, compute, brake, () => this.#isOutdated(compute));
    const claimants = claims.claimantsOf(compute);
    const { namespace = "" } = compute.metadata;
    const named = this.#options.cache.branch(namespace, compute.spec.branchRef?.name ?? "");
    const referred = referredBranch(compute, named);
    const subject = { compute, annotations, claimants, now, createSettleMs, fleet, referred };
    try {
      return await this.#reconcile(subject, state, connection, access);
    } catch (error) {
      if (!isNotFound(error) && !isStale(error)) throw error;
      // Somebody wrote, or the Compute is gone or replaced: the next version decides.
      this.#foundOutdated(compute);
      return { requeueAfterMs: outdatedMs.look };
    } finally {
      access?.gate.end();
    }
  }

  #foundOutdated({ metadata: { uid, resourceVersion: version } }: Compute): void {
    this.#outdated.set(uid, { version, until: this.#options.clock.monotonic() + outdatedMs.longest });
  }

  /** True if the API server has this very version, so that a patch of it was refused for another reason. */
  async #stands(compute: Compute): Promise<boolean> {
    this.#foundOutdated(compute);
    const { metadata } = compute;
    const standing = await this.#options.cluster.get(computeKind, metadata);
    return standing?.metadata.uid === metadata.uid && standing.metadata.resourceVersion === metadata.resourceVersion;
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
    const action = await this.#overruled(plan(observed, state.known), subject, state);
    const stored = () => this.#options.cache.computeByUID(compute.metadata.uid);
    const context = { compute, annotations, cluster, clock, stored, state, signal, uninstalling, access };
    const executed = await execute(action, context).catch((error: unknown) => refusedPatch(error, compute));
    const bound = await bind(executed, observed, access, state, this.#binding);
    const endpoint = endpointAfter(bound.outcome, observed);
    const outcome = withUnreadable(bound.outcome, endpoint, state);
    const operations = access?.lister.operations;
    const id = endpoint?.id ?? "";
    state.expectResult(operations?.showsResultAt(id), operations?.followed.isBusyWith(id) === true);
    const reported = await updateStatus(outcome, observed, bound, { ...this.#options, known: state.known, state });
    state.reported(reported.status);
    this.#options.onStep?.(action, reported, outcome);
    return { requeueAfterMs: state.requeueAfter(outcome, clock.monotonic()) };
  }

  /** A pool undoes an edit of its member before it is sent; once the CRD itself goes, every Compute is let go. */
  async #overruled(action: Action, subject: Subject, state: ReconcileState): Promise<Action> {
    const { compute } = subject;
    if (sendsSpec(action) && this.#options.awaitsPool(compute)) return noop(poolAwaitedMs);
    if (action.kind !== "wait" || action.reason === "Deleting" || !isBeingDeleted(compute)) {
      return action;
    }
    if (!(await this.#options.uninstalling.now(compute))) return action;
    return letGo(released.uninstalling(undefined), subject, state.known);
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
    lister.use(uid, annotations.recordedID, interestsOf(compute), compute.metadata.namespace);
    return lister;
  }

  /** True if a write that was planned for this version is no longer wanted: it may have waited since. */
  #isOutdated({ metadata }: Compute): boolean {
    const newest = this.#options.cache.computeByUID(metadata.uid);
    if (newest === undefined) return true;
    if (newest.metadata.generation !== metadata.generation || this.#isPaused(newest)) return true;
    if (!this.#options.selects(newest)) return true;
    return !this.#options.connections.isGranted(newest);
  }

  #isPaused(compute: Compute): boolean {
    return pausedForMs(compute, this.#options.clock.now()) !== undefined;
  }

  #stateOf(uid: string): ReconcileState {
    const now = this.#options.clock.monotonic();
    const lists = { countAfter: now, firstAfter: this.#relistedAt };
    const state = this.#states.get(uid) ?? new ReconcileState(now, this.#options.term, { lists });
    this.#states.set(uid, state);
    return state;
  }

  #leave(uid: string): void {
    this.#listers.get(uid)?.leave(uid);
    this.#listers.delete(uid);
  }

  #forget(uid: string): void {
    this.#options.brake.leave(uid);
    this.#leave(uid);
    this.#states.delete(uid);
    this.#outdated.delete(uid);
  }
}

/** True if the endpoint stays by the policy in force. */
function isRetained({ spec, status }: Compute): boolean {
  return (spec.deletionPolicy ?? status.deletionPolicy) === "Retain";
}

/**
 * True if a requeue that is due needs no list of its own: one is expected, or shows already what was waited for. An
 * endpoint that is missing is looked for at once: the end of its operations may never be seen.
 */
function isListed({ compute, annotations }: Subject, { known }: ReconcileState, lister?: EndpointLister): boolean {
  const { recordedID: endpointID = "" } = annotations;
  if (lister === undefined) return false;
  if (lister.isExpected(compute.metadata.uid, known.missing === undefined ? endpointID : undefined)) return true;
  const listedAt = lister.observed?.startedAt;
  if (known.requeue.wasBusy !== true || listedAt === undefined) return false;
  return lister.operations.followed.wereOverBefore(endpointID, listedAt);
}
