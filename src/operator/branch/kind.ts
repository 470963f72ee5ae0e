import type { ConnectionView } from "../connection/registry.ts";
import type { ClusterClient } from "../kube/client.ts";
import type { EventInput } from "../kube/event-record.ts";
import type { Stop } from "../life/guard.ts";
import type { Kind, KindTypes } from "../life/kind.ts";
import { after } from "../life/outcome.ts";
import { report } from "../life/report.ts";
import { isBeingDeleted } from "../objects/object.ts";
import { type Branch, branchNameOf, owningBranch } from "../resources/branch.ts";
import { type Compute, computeKind } from "../resources/compute.ts";
import type { Clock } from "../runtime/clock.ts";
import { shortlyMs } from "../runtime/waits.ts";
import type { BranchAction } from "./action.ts";
import { noteList } from "./begin.ts";
import { branchPatches, computeRefused, execute, restoreFinalizer } from "./execute.ts";
import { insteadOf } from "./guard.ts";
import type { BranchMemory } from "./memory.ts";
import type { ComputeStep, Observation, Subject, Unobserved } from "./observation.ts";
import { observe } from "./observe.ts";
import { type Outcome, shown } from "./outcome.ts";
import { carryOut, type StoredSpecs } from "./owned-compute.ts";
import { fallsFreeSoon, isLate } from "./plan/expiry.ts";
import { branchReasons } from "./reasons.ts";
import { nextStatus } from "./status.ts";
import type { BranchParts } from "./steps.ts";
import * as words from "./words.ts";

export interface BranchKindOptions {
  parts: BranchParts;
  cluster: ClusterClient;
  clock: Clock;
  signal: AbortSignal;
  /** `--fleet`. */
  fleet: string | undefined;
  /** Asks the API server whether the CRD of Branches is being deleted, or gone. */
  uninstalling: () => Promise<boolean>;
  event: (object: Branch, record: EventInput) => void;
  computeEvent: (compute: Compute, record: EventInput) => void;
  /** `compute`: the Compute of the object's name. */
  cache: { compute(object: Branch): Compute | undefined };
  storedSpecs: StoredSpecs;
  /** The last guard stopped a write. */
  onStop: (stop: Stop, object: Branch) => void;
}

/** A Branch and its connection, before anything is asked of the service. */
export interface Given {
  subject: Subject;
  connection: ConnectionView;
}

export interface BranchTypes extends KindTypes {
  object: Branch;
  seen: Observation | Unobserved;
  action: BranchAction;
  memory: BranchMemory;
  given: Given;
  done: Outcome;
}

/** A Branch's own in its life. */
export function branchKindOf(options: BranchKindOptions): Kind<BranchTypes> {
  const { parts, cluster, clock, signal, fleet, uninstalling } = options;
  return {
    patches: branchPatches,
    reasons: branchReasons,
    observe: ({ given: { subject, connection }, memory, access }) => {
      const observed = observe(subject, memory, connection, access);
      if (observed.kind === "observed") noteList(memory, observed);
      return observed;
    },
    plan: parts.plan,
    guard: parts.guard,
    insteadOf: (_, stop, observed) => insteadOf(stop, observed),
    onStop: options.onStop,
    letGo: (action, { object }) => {
      if (action.kind !== "show" || action.reason === "Paused") return undefined;
      const message = words.released.uninstalling(object.status.branchID ?? "");
      return { kind: "release", event: "Released", message, isUninstalling: true };
    },
    uninstalling,
    execute: async (action, _, { object, memory, access }) =>
      execute(action, {
        object: await restoreFinalizer(object, cluster),
        memory,
        cluster,
        clock,
        signal,
        fleet,
        access,
        uninstalling,
        ownsStill: () => ownsStill(object, options),
        compute: (step) => bringCompute(step, object, options),
      }),
    refused: ({ reason, message, error, isOwn }, action, { object, memory }) =>
      action.kind === "compute" && !isOwn
        ? computeRefused(action.step, { reason, said: error.message }, { object, memory, clock })
        : shown(object, { reason, message }, { requeue: after(shortlyMs) }),
    status: async (done, observed, { memory }) => {
      const { object, condition, events } = done;
      // Events come first: the status patch may meet a newer version, and what was done is reported all the same.
      for (const event of events) options.event(object, event);
      if (condition.kind === "released") return done;
      const status = nextStatus(done, observed, memory, clock.now());
      // Progress is told by the event of the write that began it.
      const told = { reasons: branchReasons, isAnnounced: true };
      if (status !== undefined) await report(branchPatches, options, object, status, done, told);
      warn(object, memory, options);
      return done;
    },
  };
}

/** Only a Compute that the object owns is ever deleted. */
async function bringCompute(
  step: ComputeStep,
  object: Branch,
  { cluster, cache, computeEvent, storedSpecs: stored }: BranchKindOptions,
): Promise<void> {
  const existing = cache.compute(object);
  if (step.kind !== "create" && owningBranch(existing ?? object)?.uid !== object.metadata.uid) return;
  const restored = await carryOut(step, object, existing, { cluster, stored });
  if (restored === undefined) return;
  // On the Compute, because it was edited there.
  const message = words.computeRestored(object.metadata.name);
  computeEvent(restored, { type: "Normal", reason: "DriftCorrected", message });
}

/** The watches of Branches and Computes may lag behind each other. */
async function ownsStill(object: Branch, { cluster, cache }: BranchKindOptions): Promise<boolean> {
  const compute = cache.compute(object);
  const { uid } = object.metadata;
  if (compute === undefined || owningBranch(compute)?.uid !== uid) return true;
  const newest = await cluster.get(computeKind, compute.metadata);
  return newest === undefined || owningBranch(newest)?.uid === uid;
}

/** A lease that ends because it cannot be renewed is a warning, once; so is a taken name that falls free soon. */
function warn(object: Branch, memory: BranchMemory, { clock, event }: BranchKindOptions): void {
  const isFreeSoon = !isBeingDeleted(object) && fallsFreeSoon(object, clock.now());
  if (isFreeSoon && !memory.warnedTaken) {
    const message = words.taken.endsSoon(branchNameOf(object), object.status.takenUntil ?? "");
    event(object, { type: "Warning", reason: "BranchExists", message });
  }
  memory.warnedTaken = isFreeSoon;
  const isWarned = !isBeingDeleted(object) && isLate(object, clock.now());
  if (isWarned && !memory.warnedLate) {
    const message = words.ends.late(object.status.expiresAt ?? "");
    event(object, { type: "Warning", reason: "LeaseEnding", message });
  }
  memory.warnedLate = isWarned;
}
