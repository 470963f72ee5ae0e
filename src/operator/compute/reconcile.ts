import type { ClusterClient } from "../cluster/client.ts";
import type { Connections, ConnectionView } from "../connection/connections.ts";
import type { ProjectWatcher } from "../connection/project-watcher.ts";
import type { Secret } from "../connection/resolve.ts";
import type { Compute } from "../resources/compute.ts";
import type { Clock } from "../runtime/clock.ts";
import { release } from "./act/hands.ts";
import { act } from "./act.ts";
import { keepConnectionSecret } from "./connection-secret.ts";
import { DepartedComputes, type DepartedOptions } from "./departed.ts";
import { type Memory, newMemory } from "./memory.ts";
import type { ClaimIndex } from "./observe/claim-index.ts";
import { recordedID } from "./observe/link.ts";
import { noteApplied, rivalsOf, takeNote } from "./observe/look.ts";
import { annotation, freshLookAsked, type Sight, type View } from "./observe/view.ts";
import { observe } from "./observe.ts";
import { type Note, type Outcome, shown, unchanged } from "./outcome.ts";
import { plan } from "./plan.ts";
import { nextLook, reasons } from "./reasons.ts";
import { endpointAfter, report } from "./report.ts";
import type { Step } from "./step.ts";

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
  event: (compute: Compute, note: Note) => void;
  /** Takes one deletion from the brake for the Compute with this uid; false: not now. */
  mayDelete: (uid: string) => boolean;
  uninstalling: () => Promise<boolean>;
  createSettleMs: number;
  signal: AbortSignal;
  onSettled: DepartedOptions["onSettled"];
  onStep?: (step: Step, compute: Compute, outcome: Outcome) => void;
}

/** A Compute that comes under another process's selector is left to the former for so long, in milliseconds. */
const handOverMs = 60_000;

/** How long to wait for the watch to deliver a write of ours before the API server is asked, in milliseconds. */
const deliveryMs = 5000;

/** One pass over one Compute: observe, plan, act, report. */
export class ComputeReconciler {
  readonly #options: ComputeReconcilerOptions;
  readonly #memories = new Map<string, Memory>();
  readonly #watchers = new Map<string, ProjectWatcher>();
  readonly #departed: DepartedComputes;

  constructor(options: ComputeReconcilerOptions) {
    this.#options = options;
    this.#departed = new DepartedComputes(options);
  }

  /** Lists from before now count for nothing: something was lost sight of. */
  forgetLists(): void {
    const now = this.#options.clock.monotonic();
    for (const memory of this.#memories.values()) memory.listsCountAfter = now;
  }

  /** The Compute came under the selector from outside. */
  entered(uid: string): void {
    this.#memoryOf(uid).enteredAt = this.#options.clock.monotonic();
  }

  /** The watch delivered this version; what is newer than our own last write ends the wait for it. */
  delivered({ metadata }: Compute): void {
    const memory = this.#memories.get(metadata.uid);
    memory?.delivered.add(metadata.resourceVersion);
    if (memory?.ownWrite?.resourceVersion === metadata.resourceVersion) delete memory.ownWrite;
  }

  /** The watch says that it is gone. */
  gone(last: Compute): void {
    const memory = this.#memories.get(last.metadata.uid);
    if (memory !== undefined) this.#departed.gone(last, memory);
  }

  /** Computes that are gone and need their connection for what they left. */
  get departed(): Compute[] {
    return this.#departed.all;
  }

  /** A complete list of the API server came in: it holds every write of ours that ended before. */
  relisted(): void {
    for (const memory of this.#memories.values()) delete memory.ownWrite;
    this.forgetLists();
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
    if (memory.ownWrite !== undefined) {
      const waited = now - memory.ownWrite.since;
      if (waited < deliveryMs) return deliveryMs - waited;
      // The watch is slow: whatever it delivers later is older than what we know, or the same.
      delete memory.ownWrite;
    }
    if (memory.enteredAt !== undefined && now - memory.enteredAt < handOverMs)
      return memory.enteredAt + handOverMs - now;
    try {
      return await this.#pass(compute, memory);
    } finally {
      this.#watchers.get(uid)?.turn.give(uid);
    }
  }

  async #pass(compute: Compute, memory: Memory): Promise<number | undefined> {
    const { clock, connections, claims, createSettleMs } = this.#options;
    const now = clock.monotonic();
    memory.delivered.clear();
    this.#renewLists(compute, memory, now);
    const { namespace = "" } = compute.metadata;
    const connection = connections.view(namespace, compute.spec.connectionRef.name, compute.spec.projectID);
    const watcher = this.#watch(compute, connection);
    const rivals = rivalsOf(compute, claims);
    const sight = await observe(compute, memory, connection, watcher, rivals);
    if (sight.kind === "listed") takeNote(memory, compute, sight.list, now);
    const view: View = { compute, sight, rivals, memory, now, createSettleMs };
    const step = await this.#letGo(plan(view), compute);
    const outcome = await this.#carryOut(step, compute, memory, watcher);
    const whole = await this.#bind(outcome, sight, watcher);
    const asked = annotation(compute, "reconcileRequestedAt");
    const reported = await report(whole.outcome, sight, whole.binding, this.#options, asked);
    noteApplied(memory, reported);
    if (outcome.released) memory.released = true;
    this.#options.onStep?.(step, reported, whole.outcome);
    const { resourceVersion } = reported.metadata;
    // Let go, it is most likely gone: what the cache still shows of it is waited out like any version before our own.
    const written = outcome.released || resourceVersion !== compute.metadata.resourceVersion;
    if (written && !memory.delivered.has(resourceVersion))
      memory.ownWrite = { resourceVersion, since: clock.monotonic() };
    return this.#nextLook(whole.outcome, memory);
  }

  /** Once the CRD itself goes, no Compute waits any more to have its endpoint deleted: all are let go. */
  async #letGo(step: Step, compute: Compute): Promise<Step> {
    const waits = step.step === "wait" && step.reason !== "Deleting";
    if (!waits || compute.metadata.deletionTimestamp === undefined) return step;
    if (!(await this.#options.uninstalling())) return step;
    const message = "Whatever endpoint it has is kept: the CRD itself is being deleted.";
    return { step: "release", event: "Released", message };
  }

  /** A look that is due, or that a person asked for, wants a list from after that. */
  #renewLists(compute: Compute, memory: Memory, now: number): void {
    const { dueAt } = memory.looks;
    if (dueAt !== undefined && now >= dueAt) {
      memory.listsCountAfter = Math.max(memory.listsCountAfter, dueAt);
      memory.looks.dueAt = undefined;
    }
    const asked = annotation(compute, "reconcileRequestedAt");
    if (freshLookAsked(compute) && asked !== undefined && memory.freshLookFor !== asked) {
      memory.freshLookFor = asked;
      memory.listsCountAfter = now;
      delete memory.held;
    }
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

  async #carryOut(step: Step, compute: Compute, memory: Memory, watcher: ProjectWatcher | undefined): Promise<Outcome> {
    switch (step.step) {
      case "hold":
        return unchanged(compute, step.lookInMs);
      case "wait":
        return shown(compute, step.reason, step.message, lookOf(step));
      case "refuse": {
        const foreign = step.foreign === undefined ? {} : { foreign: step.foreign };
        return shown(compute, step.reason, step.message, { ...lookOf(step), ...foreign });
      }
      case "settled":
        delete memory.held;
        return shown(compute, step.reason, step.message, { drift: step.drift, ...lookOf(step) });
      case "release":
        return release(step, compute, this.#options.cluster);
      case "create":
      case "patch":
      case "restart":
      case "restarted":
      case "delete":
      case "link":
      case "unmark":
      case "remark":
      case "confirmGone": {
        if (watcher === undefined) return unchanged(compute);
        const { cluster, clock, signal, uninstalling } = this.#options;
        const mayDelete = () => this.#options.mayDelete(compute.metadata.uid);
        return act(step, compute, { cluster, clock, memory, signal, mayDelete, uninstalling, watcher });
      }
    }
  }

  /** The connection Secret of a Compute that has an endpoint; where it cannot be made, the Compute is not ready. */
  async #bind(
    outcome: Outcome,
    sight: Sight,
    watcher: ProjectWatcher | undefined,
  ): Promise<{ outcome: Outcome; binding: string | undefined }> {
    const { compute } = outcome;
    const endpoint = endpointAfter(outcome, sight);
    const before = compute.status.binding?.name;
    const resting = compute.metadata.deletionTimestamp === undefined && annotation(compute, "paused") !== "true";
    if (endpoint === undefined || watcher === undefined || !resting || outcome.released)
      return { outcome, binding: before };
    const { cluster, signal, cache } = this.#options;
    const binding = await keepConnectionSecret(compute, endpoint, {
      cluster,
      signal,
      client: watcher.client,
      ours: (namespace) => cache.connectionSecrets(namespace),
    });
    switch (binding.kind) {
      case "none":
        return { outcome, binding: undefined };
      case "bound":
        return { outcome, binding: binding.name };
      case "failed": {
        const settled = outcome.verdict.kind === "shown" && reasons[outcome.verdict.reason].ready === "True";
        const { reason, message } = binding;
        return {
          outcome: settled ? { ...outcome, verdict: { kind: "shown", reason, message } } : outcome,
          binding: undefined,
        };
      }
    }
  }

  /** When to look again: what a step asked for, else what its reason says; a look that is already due sooner stays. */
  #nextLook({ verdict, lookInMs, released }: Outcome, memory: Memory): number | undefined {
    if (released) return undefined;
    const now = this.#options.clock.monotonic();
    const { looks } = memory;
    const due = looks.dueAt !== undefined && looks.dueAt > now ? looks.dueAt : undefined;
    if (verdict.kind === "unchanged") {
      looks.dueAt = lookInMs === undefined ? due : Math.min(due ?? Number.POSITIVE_INFINITY, now + lookInMs);
    } else if (lookInMs !== undefined || looks.reason !== verdict.reason || due === undefined) {
      if (looks.reason !== verdict.reason) memory.looks = { reason: verdict.reason, count: 0, dueAt: undefined };
      const delay = lookInMs ?? nextLook(reasons[verdict.reason].look, memory.looks.count);
      memory.looks.count += 1;
      memory.looks.dueAt = delay === undefined ? undefined : now + delay;
    }
    return memory.looks.dueAt === undefined ? undefined : Math.max(1, memory.looks.dueAt - now);
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
    this.#leave(uid);
    this.#memories.delete(uid);
  }
}

function lookOf({ lookInMs }: { lookInMs?: number }): { lookInMs?: number } {
  return lookInMs === undefined ? {} : { lookInMs };
}
