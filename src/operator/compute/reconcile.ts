import type { ClusterClient } from "../cluster/client.ts";
import type { Connections, ConnectionView } from "../connection/connections.ts";
import type { ProjectWatcher } from "../connection/project-watcher.ts";
import type { Secret } from "../connection/resolve.ts";
import type { Compute } from "../resources/compute.ts";
import type { Clock } from "../runtime/clock.ts";
import { refusalOfNote } from "./act/failures.ts";
import type { CrdDeletion } from "./act/hands.ts";
import { writeDown } from "./act/write-down.ts";
import { act } from "./act.ts";
import { type BindTools, bind } from "./bind.ts";
import { DepartedComputes, type DepartedOptions } from "./departed.ts";
import { type Errand, errandTo } from "./errand.ts";
import type { Brake } from "./gate.ts";
import { lookAfter, renewLists } from "./looks.ts";
import { type Memory, newMemory } from "./memory.ts";
import type { ClaimIndex } from "./observe/claim-index.ts";
import { recordedID } from "./observe/link.ts";
import { noteApplied, noteMark, takeNote } from "./observe/notes.ts";
import { annotation, isGuarded, isPaused, type View } from "./observe/view.ts";
import { observe } from "./observe.ts";
import { type Note, type Outcome, shown, unchanged } from "./outcome.ts";
import { plan } from "./plan.ts";
import { endpointAfter, report } from "./report.ts";
import { hold, type Step, sendsSpec } from "./step.ts";
import { withUnreadable } from "./unreadable.ts";

export interface ComputeReconcilerOptions {
  cluster: ClusterClient;
  clock: Clock;
  connections: Connections;
  claims: ClaimIndex;
  cache: {
    computeByUID(uid: string): Compute | undefined;
    connectionSecrets(namespace: string): readonly Secret[];
  };
  /** Whether this process reconciles the Compute, by its selector. */
  selects: (compute: Compute) => boolean;
  awaitsPool: BindTools["awaitsPool"];
  event: (compute: Compute, note: Note) => void;
  brake: Brake;
  /** Whether a Compute that is being deleted goes only because its definition does. */
  uninstalling: CrdDeletion;
  createSettleMs: number;
  signal: AbortSignal;
  onSettled: DepartedOptions["onSettled"];
  onStep?: (step: Step, compute: Compute, outcome: Outcome) => void;
}

/** A Compute that comes under another process's selector is left to the former for so long, in milliseconds. */
const handOverMs = 60_000;

/** What the API server would not take is offered to it again, in milliseconds: nothing tells when it will. */
const noteAgainMs = 10_000;

/** One pass over one Compute: observe, plan, act, report. */
export class ComputeReconciler {
  readonly #options: ComputeReconcilerOptions;
  readonly #memories = new Map<string, Memory>();
  readonly #watchers = new Map<string, ProjectWatcher>();
  readonly #departed: DepartedComputes;
  readonly #binding: BindTools;

  constructor(options: ComputeReconcilerOptions) {
    this.#options = options;
    this.#departed = new DepartedComputes(options);
    this.#binding = { ...options, ours: (namespace) => options.cache.connectionSecrets(namespace) };
  }

  /** The Compute came under the selector from outside. */
  entered(uid: string): void {
    this.#memoryOf(uid).enteredAt = this.#options.clock.monotonic();
  }

  /** A newer version of a Compute is known. */
  changed(compute: Compute, previous: Compute | undefined): void {
    // Dropped before a pass saw it, as where a Compute enters a shard and is replaced in one go.
    if (previous !== undefined && !isGuarded(compute) && this.#options.selects(compute)) {
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
    const errand = watcher && errandTo(watcher, compute, brake, () => this.#isOutdated(compute));
    try {
      return await this.#pass(compute, memory, connection, errand);
    } finally {
      errand?.gate.end();
    }
  }

  async #pass(
    compute: Compute,
    memory: Memory,
    connection: ConnectionView,
    errand: Errand | undefined,
  ): Promise<number | undefined> {
    const { clock, claims, createSettleMs } = this.#options;
    const now = clock.monotonic();
    const isFollowed = errand?.watcher.operations.isBusyWith(recordedID(compute) ?? "") === true;
    renewLists(compute, memory, isFollowed, now);
    const rivals = claims.rivalsOf(compute);
    const sight = await observe(compute, memory, connection, errand, rivals);
    if (sight.kind === "listed") takeNote(memory, compute, sight.list, now);
    const view: View = { compute, sight, rivals, memory, now, createSettleMs };
    const step = await this.#overruled(plan(view), compute);
    const outcome = await this.#carryOut(step, compute, memory, errand).catch((error: unknown) => {
      const refusal = refusalOfNote(error);
      if (refusal === undefined) throw error;
      return shown(compute, refusal.reason, refusal.message, { lookInMs: noteAgainMs });
    });
    const whole = await bind(outcome, sight, errand, memory, this.#binding);
    const asked = {
      look: annotation(compute, "reconcileRequestedAt"),
      confirmLoss: annotation(compute, "confirmLoss"),
    };
    const told = withUnreadable(whole.outcome, endpointAfter(whole.outcome, sight), memory);
    const reported = await report(told, sight, whole.binding, this.#options, asked);
    noteApplied(memory, reported);
    if (outcome.released) memory.released = true;
    this.#options.onStep?.(step, reported, told);
    return lookAfter(whole.outcome, memory, clock.monotonic());
  }

  /** A pool undoes an edit of its member before it is sent; once the CRD itself goes, every Compute is let go. */
  async #overruled(step: Step, compute: Compute): Promise<Step> {
    if (sendsSpec(step) && this.#options.awaitsPool(compute)) return hold(noteAgainMs);
    if (step.step !== "wait" || step.reason === "Deleting" || compute.metadata.deletionTimestamp === undefined) {
      return step;
    }
    if (!(await this.#options.uninstalling.now(compute))) return step;
    const message = "Whatever endpoint it has is kept: the CRD itself is being deleted.";
    return { step: "release", event: "Released", message };
  }

  /** Joins the watcher of the Compute's project, and leaves the one before where that is another. */
  #watch(compute: Compute, connection: ConnectionView): ProjectWatcher | undefined {
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

  async #carryOut(step: Step, compute: Compute, memory: Memory, errand: Errand | undefined): Promise<Outcome> {
    switch (step.step) {
      case "hold":
        return unchanged(compute, step.lookInMs);
      case "wait":
      case "refuse": {
        const foreign = step.foreign === undefined ? {} : { foreign: step.foreign };
        return shown(compute, step.reason, step.message, { ...lookOf(step), ...foreign });
      }
      case "settled":
        delete memory.held;
        return shown(compute, step.reason, step.message, {
          drift: step.drift,
          ...(step.disablesOver === true ? { unansweredDisables: 0 } : {}),
          ...lookOf(step),
        });
      case "release":
      case "link":
      case "unmark":
      case "remark":
        return writeDown(step, compute, this.#options.cluster);
      case "create":
      case "patch":
      case "restart":
      case "restarted":
      case "delete":
      case "confirmGone": {
        if (errand === undefined) return unchanged(compute);
        const { cluster, clock, signal } = this.#options;
        const { uninstalling } = this.#options;
        return act(step, compute, { cluster, clock, memory, signal, uninstalling, ...errand });
      }
    }
  }

  /** Whether a write that was planned for this version is no longer wanted: it may have waited since. */
  #isOutdated({ metadata }: Compute): boolean {
    const newest = this.#options.cache.computeByUID(metadata.uid);
    if (newest === undefined) return true;
    return newest.metadata.generation !== metadata.generation || isPaused(newest);
  }

  #memoryOf(uid: string): Memory {
    const known = this.#memories.get(uid);
    if (known !== undefined) return known;
    const memory = newMemory(this.#options.clock.monotonic());
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

function lookOf({ lookInMs }: { lookInMs?: number }): { lookInMs?: number } {
  return lookInMs === undefined ? {} : { lookInMs };
}
