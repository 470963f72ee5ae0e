import type { EndpointLister } from "../connection/endpoint-lister.ts";
import type { ConnectionView, SessionRegistry } from "../connection/registry.ts";
import type { Secret } from "../connection/resolve.ts";
import type { ClusterClient } from "../kube/client.ts";
import type { Compute } from "../resources/compute.ts";
import type { Clock } from "../runtime/clock.ts";
import { Cleanup, type CleanupOptions } from "./cleanup/cleanup.ts";
import { accessTo, type CrdDeletion, type ServiceAccess } from "./execute/context.ts";
import { execute } from "./execute/execute.ts";
import { refusalOfNote } from "./execute/failures.ts";
import type { Brake } from "./execute/gate.ts";
import type { ClaimIndex } from "./observe/claim-index.ts";
import { observe } from "./observe/observe.ts";
import { recordedID } from "./observe/ownership.ts";
import { hasFinalizer, isPaused, type PlanInput } from "./observe/plan-input.ts";
import { noteApplied, noteMark, takeNote } from "./observe/remember.ts";
import { type EventRecord, type Outcome, shown } from "./outcome.ts";
import { type Action, noop, sendsSpec } from "./plan/action.ts";
import { plan } from "./plan/plan.ts";
import { expireLists, requeueAfter } from "./requeue.ts";
import { type BindTools, bind } from "./secret/bind.ts";
import { newReconcileState, type ReconcileState } from "./state.ts";
import { released } from "./status/messages/deletion.ts";
import { withUnreadable } from "./status/unreadable.ts";
import { endpointAfter, requestsOf, updateStatus } from "./update-status.ts";

export interface ComputeReconcilerOptions {
  cluster: ClusterClient;
  clock: Clock;
  connections: SessionRegistry;
  claims: ClaimIndex;
  cache: {
    computeByUID(uid: string): Compute | undefined;
    connectionSecrets(namespace: string): readonly Secret[];
  };
  /** Whether this process reconciles the Compute, by its selector. */
  selects: (compute: Compute) => boolean;
  awaitsPool: BindTools["awaitsPool"];
  event: (compute: Compute, note: EventRecord) => void;
  brake: Brake;
  /** Whether a Compute that is being deleted goes only because its definition does. */
  uninstalling: CrdDeletion;
  createSettleMs: number;
  signal: AbortSignal;
  onSettled: CleanupOptions["onSettled"];
  onStep?: (action: Action, compute: Compute, outcome: Outcome) => void;
}

/** A Compute that comes under another process's selector is left to the former for so long, in milliseconds. */
const handOverMs = 60_000;

/** What the API server would not take is offered to it again, in milliseconds: nothing tells when it will. */
const noteAgainMs = 10_000;

/** One reconcile of one Compute: observe, plan, act, report. */
export class ComputeReconciler {
  readonly #options: ComputeReconcilerOptions;
  readonly #memories = new Map<string, ReconcileState>();
  readonly #watchers = new Map<string, EndpointLister>();
  readonly #departed: Cleanup;
  readonly #binding: BindTools;

  constructor(options: ComputeReconcilerOptions) {
    this.#options = options;
    this.#departed = new Cleanup(options);
    this.#binding = { ...options, ours: (namespace) => options.cache.connectionSecrets(namespace) };
  }

  /** The Compute came under the selector from outside. */
  entered(uid: string): void {
    this.#memoryOf(uid).enteredAt = this.#options.clock.monotonic();
  }

  /** A newer version of a Compute is known. */
  changed(compute: Compute, previous: Compute | undefined): void {
    // Dropped before a reconcile saw it, as where a Compute enters a shard and is replaced in one go.
    if (previous !== undefined && !hasFinalizer(compute) && this.#options.selects(compute)) {
      noteMark(this.#memoryOf(compute.metadata.uid), previous, this.#options.clock.monotonic());
    }
  }

  /** A Compute is gone. */
  gone(last: Compute): void {
    const memory = this.#memories.get(last.metadata.uid);
    if (memory !== undefined) this.#departed.gone(last, memory);
  }

  /** Computes that are gone and need their connection for what they left. */
  get departed(): Compute[] {
    return this.#departed.all;
  }

  /** The last that was known of one of them. */
  departedCompute(uid: string): Compute | undefined {
    return this.#departed.of(uid);
  }

  /**
   * A complete list of the API server came in, and may hide a gap: no plan is acted on from before it. What is known of
   * writes stays: those to the API server are in the store, those to the service in each memory.
   */
  relisted(): void {
    const now = this.#options.clock.monotonic();
    for (const memory of this.#memories.values()) memory.listsCountAfter = now;
  }

  /** Answers with the milliseconds until the next look, where one is due without news. */
  async reconcile(uid: string): Promise<number | undefined> {
    const compute = this.#options.cache.computeByUID(uid);
    if (compute === undefined) {
      this.#forget(uid);
      return this.#departed.reconcile(uid);
    }
    this.#departed.back(uid);
    if (!this.#options.selects(compute)) {
      this.#forget(uid);
      return undefined;
    }
    const memory = this.#memoryOf(uid);
    const { clock } = this.#options;
    const now = clock.monotonic();
    noteMark(memory, compute, now);
    if (memory.enteredAt !== undefined && now - memory.enteredAt < handOverMs)
      return memory.enteredAt + handOverMs - now;
    const { namespace = "" } = compute.metadata;
    const { connectionRef, projectID } = compute.spec;
    const connection = this.#options.connections.view(namespace, connectionRef.name, projectID);
    const watcher = this.#watch(compute, connection);
    const { brake } = this.#options;
    const access = watcher && accessTo(watcher, compute, brake, () => this.#isOutdated(compute));
    try {
      return await this.#reconcile(compute, memory, connection, access);
    } finally {
      access?.gate.end();
    }
  }

  async #reconcile(
    compute: Compute,
    memory: ReconcileState,
    connection: ConnectionView,
    access: ServiceAccess | undefined,
  ): Promise<number | undefined> {
    const { clock, claims, createSettleMs } = this.#options;
    const now = clock.monotonic();
    const isFollowed = access?.watcher.operations.isBusyWith(recordedID(compute) ?? "") === true;
    expireLists(compute, memory, isFollowed, now);
    const claimants = claims.claimantsOf(compute);
    const observation = await observe(compute, memory, connection, access, claimants);
    if (observation.kind === "listed") takeNote(memory, compute, observation.list, now);
    const view: PlanInput = { compute, observation, claimants, memory, now, createSettleMs };
    const action = await this.#overruled(plan(view), compute);
    const { cluster, signal, uninstalling } = this.#options;
    const context = { cluster, clock, memory, signal, uninstalling };
    const outcome = await execute(action, compute, context, access).catch((error: unknown) => {
      const refusal = refusalOfNote(error);
      if (refusal === undefined) throw error;
      return shown(compute, refusal.reason, refusal.message, { requeueAfterMs: noteAgainMs });
    });
    const whole = await bind(outcome, observation, access, memory, this.#binding);
    const told = withUnreadable(whole.outcome, endpointAfter(whole.outcome, observation), memory);
    const reported = await updateStatus(told, observation, whole.binding, this.#options, requestsOf(compute));
    noteApplied(memory, reported);
    if (outcome.released) memory.released = true;
    this.#options.onStep?.(action, reported, told);
    return requeueAfter(whole.outcome, memory, clock.monotonic());
  }

  /** A pool undoes an edit of its member before it is sent; once the CRD itself goes, every Compute is let go. */
  async #overruled(action: Action, compute: Compute): Promise<Action> {
    if (sendsSpec(action) && this.#options.awaitsPool(compute)) return noop(noteAgainMs);
    if (action.kind !== "wait" || action.reason === "Deleting" || compute.metadata.deletionTimestamp === undefined) {
      return action;
    }
    if (!(await this.#options.uninstalling.now(compute))) return action;
    return { kind: "release", event: "Released", message: released.uninstalling(undefined) };
  }

  /** Joins the watcher of the Compute's project, and leaves the one before where that is another. */
  #watch(compute: Compute, connection: ConnectionView): EndpointLister | undefined {
    const { uid } = compute.metadata;
    const before = this.#watchers.get(uid);
    const watcher = connection.kind === "open" ? connection.session.project(compute.spec.projectID) : undefined;
    if (before !== watcher) before?.leave(uid);
    if (watcher === undefined) {
      this.#watchers.delete(uid);
      return undefined;
    }
    this.#watchers.set(uid, watcher);
    watcher.use(uid, recordedID(compute));
    return watcher;
  }

  /** Whether a write that was planned for this version is no longer wanted: it may have waited since. */
  #isOutdated({ metadata }: Compute): boolean {
    const newest = this.#options.cache.computeByUID(metadata.uid);
    if (newest === undefined) return true;
    return newest.metadata.generation !== metadata.generation || isPaused(newest);
  }

  #memoryOf(uid: string): ReconcileState {
    const known = this.#memories.get(uid);
    if (known !== undefined) return known;
    const memory = newReconcileState(this.#options.clock.monotonic());
    this.#memories.set(uid, memory);
    return memory;
  }

  #leave(uid: string): void {
    this.#watchers.get(uid)?.leave(uid);
    this.#watchers.delete(uid);
  }

  #forget(uid: string): void {
    if (this.#departed.of(uid) === undefined) this.#options.brake.leave(uid);
    this.#leave(uid);
    this.#memories.delete(uid);
  }
}
