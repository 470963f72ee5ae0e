import { elapsed } from "../clock.ts";
import { schedule, steps } from "../computes/chain.ts";
import { inactivitySeconds } from "../computes/inactivity.ts";
import { meter } from "../computes/meter.ts";
import type { ServiceContext } from "../context.ts";
import { becomeReady, finish } from "../domain/due-events.ts";
import { undoRestore } from "../domain/undo-restore.ts";
import { messageOf } from "../error-message.ts";
import { Slots } from "../sharing/slots.ts";
import type { CopyWanted } from "../store/branch-data.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { StoredOperation } from "../store/operations.ts";
import { type BranchCopies, CopyFailed } from "./branches/branch-copies.ts";
import { Crashes } from "./crashes.ts";
import type { DrivenService } from "./driven-service.ts";
import { eventually } from "./eventually.ts";
import type { Fleet } from "./fleet/fleet.ts";
import { isPrimary } from "./fleet/fleet-ports.ts";
import { isFullDisk, PostgresUnusable, ServerFailed } from "./host/failure.ts";

/** Number of times that a server may end on its own within a minute before it is left stopped. */
const mostCrashes = 3;

/** Removals rest for nine times as long as the last took, for so many milliseconds at most; its end is looked for. */
const [longestRestMs, lookMs] = [10_000, 100];

/**
 * Carries the operations of the service out on servers and data. What runs when the process ends runs again when the
 * next one begins: every step can be repeated.
 */
export class OperationRunner {
  readonly #service: DrivenService;
  readonly #fleet: Fleet;
  readonly #copies: BranchCopies;
  readonly #running = new Set<number>();
  /** Work in progress: nobody may take the directories away before its end. */
  readonly #work = new Set<Promise<void>>();
  /** The branches whose data was begun, as they lack it: until they have it, or are gone. */
  readonly #preparing = new Set<string>();
  /** The computes whose servers are being stopped, as nothing needs them. */
  readonly #stopping = new Set<string>();
  readonly #removals = new Slots(1);
  #restsUntil = 0;
  readonly #crashes = new Crashes();
  #sweeping = false;
  #sweepAgain = false;
  #stopFollowing = () => {};
  #closed = false;

  constructor(service: DrivenService, fleet: Fleet, copies: BranchCopies) {
    this.#service = service;
    this.#fleet = fleet;
    this.#copies = copies;
  }

  /** Follows the service from now on. */
  begin(): void {
    this.#stopFollowing = this.#service.onChange(() => this.#follow());
    this.#follow();
    this.#retryCopies();
  }

  /** Begins nothing any more. */
  close(): void {
    this.#closed = true;
    this.#stopFollowing();
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }

  #begin(work: Promise<void>): void {
    const reported = work
      .catch((error: unknown) => this.#service.report(error))
      .finally(() => this.#work.delete(reported));
    this.#work.add(reported);
  }

  /** A server ended that nobody stopped: it is started again, which shows as an operation. */
  crashed(endpointId: string): void {
    const crashedAt = this.#service.context.clock.now();
    void this.#change((context, at) => {
      const endpoint = context.store.endpoints.byId(endpointId);
      // An operation that is under way sees for itself.
      if (endpoint?.currentState !== "active" || endpoint.pendingState !== undefined) return;
      const before = this.#crashes.note(endpointId, crashedAt);
      const [operation] = schedule(context, { endpoint, at, pendingState: "active" }, [steps.start]);
      if (operation === undefined || before < mostCrashes) return;
      const often = `the server ended on its own ${before + 1} times within a minute: see its log`;
      this.#fail(context, operation, often, at);
    });
  }

  #follow(): void {
    if (this.#closed) return;
    const { operations, branchData } = this.#service.context.store;
    for (const seq of operations.openEndedSeqs()) {
      const operation = this.#running.has(seq) ? undefined : operations.openEndedOne(seq);
      if (!operation) continue;
      this.#running.add(seq);
      this.#begin(this.#run(operation));
    }
    const missing = new Set(branchData.missing());
    for (const branchId of this.#preparing) if (!missing.has(branchId)) this.#preparing.delete(branchId);
    for (const branchId of missing) {
      if (this.#preparing.has(branchId)) continue;
      this.#preparing.add(branchId);
      this.#begin(this.#prepare(branchId));
    }
    this.sweep();
  }

  async #run(operation: StoredOperation): Promise<void> {
    let failure: string | undefined;
    let unmade: CopyWanted | undefined;
    try {
      await this.#carryOut(operation);
    } catch (error) {
      failure = messageOf(error);
      if (error instanceof CopyFailed) unmade = error.wanted;
      if (!foreseen(error)) this.#service.report(error);
    }
    // The next process repeats what this one has not noted.
    const isNoted = await this.#change((context, at) => {
      // Later, its copy would replace what clients have written since.
      if (unmade) undoRestore(context, unmade, at);
      this.#end(context, operation, failure, at);
    });
    // An operation whose end cannot be noted would hold its project's lock for ever.
    if (!isNoted) await this.#change((context, at) => this.#end(context, operation, failure ?? "internal error", at));
    this.#running.delete(operation.seq);
  }

  #end(context: ServiceContext, { seq }: StoredOperation, failure: string | undefined, at: number): void {
    const current = context.store.operations.openEndedOne(seq);
    if (!current) return;
    if (failure === undefined && current.error === undefined) finish(context, current, at);
    else this.#fail(context, current, current.error ?? failure ?? "", at);
  }

  #change(act: (context: ServiceContext, at: number) => void): Promise<boolean> {
    return eventually(this.#service, act, () => this.#closed);
  }

  /** Tries the copies again that failed under an earlier process. The others belong to operations. */
  #retryCopies(): void {
    const { operations, branchData } = this.#service.context.store;
    const inHand = new Set(operations.openEnded().map(({ branchId }) => branchId));
    for (const { branchId } of branchData.sources()) if (!inHand.has(branchId)) this.#begin(this.#prepare(branchId));
  }

  /**
   * Makes the data of a branch without an operation: of one that a seed, or a service without servers, has left
   * without, or whose copy failed.
   */
  async #prepare(branchId: string): Promise<void> {
    try {
      await this.#copies.ensure(branchId);
      await this.#change((context, at) => becomeReady(context, branchId, at));
    } catch (error) {
      // The branch stays in hand: the start of a compute on it tries again, and says why it fails.
      if (!this.#closed && !foreseen(error)) this.#service.report(error);
    }
  }

  async #carryOut({ effect, action, branchId, endpointId }: StoredOperation): Promise<void> {
    const { store } = this.#service.context;
    if (effect === "branch-ready") return this.#copies.ensure(branchId ?? "");
    const endpoint = store.endpoints.byId(endpointId ?? "");
    if (!endpoint) return;
    if (effect === "suspend") return this.#fleet.stop(endpoint.id);
    const lacksCopy = store.branchData.sourceOf(endpoint.branchId) !== undefined;
    if (effect === "start" || (action === "apply_config" && (lacksCopy || this.#needsServer(endpoint)))) {
      await this.#copies.ensure(endpoint.branchId);
      return this.#fleet.start(endpoint);
    }
    return this.#fleet.reconfigure(endpoint);
  }

  /** True if an idle compute comes up for a change: roles and databases can only be changed on a running server. */
  #needsServer(endpoint: StoredEndpoint): boolean {
    const movedAway = this.#fleet.running().some((one) => one.endpoint.id === endpoint.id);
    return endpoint.currentState === "idle" && isPrimary(endpoint) && !endpoint.disabled && !movedAway;
  }

  #fail(context: ServiceContext, operation: StoredOperation, reason: string, at: number): void {
    context.store.operations.forceFailure(operation.id, reason);
    finish(context, { ...operation, error: reason }, at);
    const endpoint = context.store.endpoints.byId(operation.endpointId ?? "");
    if (endpoint?.currentState !== "active" || this.#fleet.serverOf(endpoint.id)) return;
    Object.assign(endpoint, { currentState: "idle", suspendedAt: at, suspendDue: undefined });
    meter(context, endpoint, at);
    context.store.endpoints.update(endpoint);
  }

  /** Stops servers and removes data that nothing needs any more, and makes data that is missing. */
  sweep(): void {
    this.#sweepAgain = true;
    if (!this.#sweeping) this.#begin(this.#sweepAll());
  }

  async #sweepAll(): Promise<void> {
    const { store } = this.#service.context;
    this.#sweeping = true;
    while (this.#sweepAgain && !this.#closed) {
      this.#sweepAgain = false;
      try {
        for (const { generation, endpoint: served } of this.#fleet.running()) {
          const { id: endpointId, branchId } = served;
          const endpoint = store.endpoints.byId(endpointId);
          const busy = endpoint && store.operations.unfinishedOf(endpoint.projectId, endpointId).length > 0;
          const right =
            endpoint?.currentState === "active" && store.branchData.nameOf(branchId)?.generation === generation;
          if (!busy && !right) this.#stop(endpointId);
        }
        // A server may end while an operation runs that would have kept it. A primary that grows stops its replicas.
        for (const { id, projectId, branchId } of store.endpoints.active()) {
          if (!this.#fleet.serverOf(id) && !store.operations.anyUnfinishedOn(projectId, branchId)) this.crashed(id);
        }
        this.#remove();
      } catch (error) {
        if (!this.#closed) this.#service.report(error);
      }
    }
    this.#sweeping = false;
  }

  /** Removes data beside all else: it may be a million files, and the servers of other accounts wait for their end. */
  #remove(): void {
    // The one that waits stands for all that come meanwhile.
    if (this.#removals.taken > 1) return;
    this.#begin(this.#removals.take(() => this.#removed()));
  }

  async #removed(): Promise<void> {
    const { clock } = this.#service.context;
    // Each looks through the data of all branches, and changes come without end.
    const left = () => this.#restsUntil - clock.now();
    while (left() > 0 && left() <= longestRestMs && !this.#closed) await elapsed(clock, Math.min(lookMs, left()));
    const begun = clock.now();
    try {
      if (!this.#closed) await this.#fleet.storage.removeUnrecorded(() => this.#closed);
    } catch (error) {
      if (!this.#closed) this.#service.report(error);
    }
    this.#restsUntil = clock.now() + Math.min(longestRestMs, 9 * (clock.now() - begun));
  }

  /** Stops a server beside all others: clients may hold the end of it up, and other accounts do not wait for it. */
  #stop(endpointId: string): void {
    if (this.#stopping.has(endpointId)) return;
    this.#stopping.add(endpointId);
    this.#begin(this.#stopped(endpointId));
  }

  async #stopped(endpointId: string): Promise<void> {
    try {
      await this.#fleet.stop(endpointId).finally(() => this.#stopping.delete(endpointId));
      // The data of a server that has ended may be removed.
      this.sweep();
    } catch (error) {
      if (!this.#closed) this.#service.report(error);
    }
  }
}

/**
 * Takes up what an earlier process has left, before any call: no server runs yet, so what was active is idle until
 * somebody connects, and what never sleeps is started. Answers errors of parts.
 */
export function takeUp(context: ServiceContext, at: number): unknown[] {
  const { operations, endpoints } = context.store;
  operations.setEnds(undefined);
  return context.store.parts(endpoints.active(), (endpoint) => {
    Object.assign(endpoint, { currentState: "idle", suspendedAt: at, suspendDue: undefined, meteredAt: undefined });
    endpoints.update(endpoint);
    const busy = operations.unfinishedOf(endpoint.projectId, endpoint.id).length > 0;
    if (busy || endpoint.disabled || inactivitySeconds(context, endpoint) !== undefined) return;
    schedule(context, { endpoint, at, pendingState: "active" }, [steps.wake]);
  });
}

/** Says enough as the reason of an operation. */
function foreseen(error: unknown): boolean {
  return error instanceof ServerFailed || error instanceof PostgresUnusable || isFullDisk(error);
}
