import { isRetained } from "../../objects/deletion-policy.ts";
import { isBeingDeleted, orphansDependents } from "../../objects/object.ts";
import { branchNameOf } from "../../resources/branch.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { pausedForMs, pauseEndsInMs } from "../../resources/pause.ts";
import { seldomMs } from "../../runtime/waits.ts";
import type { BranchAction, StatusNews } from "../action.ts";
import type { ReadonlyMemory } from "../memory.ts";
import { isOurs, isProvedElsewhere, type Observation, type Unobserved } from "../observation.ts";
import * as words from "../words.ts";
import { rivalFor } from "./claims.ts";
import { linkOrCreate } from "./create.ts";
import { planDeletion } from "./delete.ts";
import { drift, dueEnd } from "./expiry.ts";
import { planGone, planMissing } from "./gone.ts";
import { planObserved } from "./observe-only.ts";
import { planReset } from "./reset.ts";

/** The next step for one Branch. Pure: the first rule that has an action wins. */
export function planBranch(o: Observation | Unobserved, memory: ReadonlyMemory): BranchAction {
  if (isObserved(o.object) && isBeingDeleted(o.object)) {
    return { kind: "release", event: "Released", message: words.observed.released };
  }
  if (orphansDependents(o.object)) {
    const message = words.deleting.orphaning(o.object.status.branchID);
    return { kind: "show", reason: "Deleting", message, afterMs: seldomMs };
  }
  if (o.kind === "unobserved") return planUnobserved(o);
  const { object, missing } = o;
  const pauseMs = pausedForMs(object, o.serviceNow);
  // A pause keeps from what is sent: what Retain lets go is not.
  if (isBeingDeleted(object) && (pauseMs === undefined || isRetained(object))) return planDeletion(o, memory);
  if (pauseMs !== undefined) return planPaused(o, memory, pauseMs);
  if (isObserved(object)) return planCompute(o) ?? planObserved(o, memory);
  const conflict = rivalFor(o);
  if (conflict !== undefined) {
    return { kind: "show", reason: "Conflict", message: words.conflict(conflict.what, conflict.place) };
  }
  if (o.linked?.by === "none" && isProvedElsewhere(object, o.fingerprint)) {
    return { kind: "show", reason: "Conflict", message: words.provedElsewhere(o.linked.listed.id) };
  }
  if (o.linked !== undefined) return planLink(o) ?? planLinked(o, memory);
  // A Compute that is declared no more needs no branch to go.
  if (o.compute.step?.kind === "delete") return { kind: "compute", step: o.compute.step };
  const gone = planGone(object);
  if (gone !== undefined) return gone;
  return missing === undefined ? linkOrCreate(o, memory) : planMissing(o, memory, missing);
}

/**
 * The step for a linked branch. A step that only waits or shows a reason hides none that acts. Ends are sent before a
 * reset, which may be refused for good, and beside one that is under way; everything else waits for that.
 */
function planLinked(o: Observation, memory: ReadonlyMemory): BranchAction {
  const reset = planReset(o, memory);
  const end = dueEnd(o, memory);
  if (end?.kind === "write" && reset?.kind !== "note") return end;
  const isUnderWay = reset?.kind === "show" && reset.reason === "Resetting";
  const others = isUnderWay ? [] : [planProtection(o), planCompute(o)];
  const steps = [reset, end, ...others].filter((step) => step !== undefined);
  return steps.find(({ kind }) => kind !== "show" && kind !== "noop") ?? steps[0] ?? planAtRest(o);
}

function planUnobserved({ object, why }: Unobserved): BranchAction {
  // Nothing more is to be seen of a branch that has ended, so what is in the way of seeing it does not matter.
  const ended = isBeingDeleted(object) ? undefined : planGone(object);
  if (ended?.kind === "show" && ended.reason === "Expired") return ended;
  if (why.kind === "pending") return { kind: "noop", ...(why.afterMs === undefined ? {} : { afterMs: why.afterMs }) };
  const isGoing = isBeingDeleted(object);
  const id = object.status.branchID;
  if (isGoing && object.spec.deletionPolicy === "Retain") {
    const message = id === undefined ? words.released.none : words.released.retained(id, object.status.expiresAt);
    return { kind: "release", event: "Released", message };
  }
  const wayOut = isGoing ? ` ${words.deleting.orRetain}` : "";
  return { kind: "show", reason: why.reason, message: `${why.message}${wayOut}` };
}

/** A lease that is ours alone is renewed all the same: pausing an object is not to end its branch. */
function planPaused(o: Observation, memory: ReadonlyMemory, pauseMs: number): BranchAction {
  const isOthers = isBeingDeleted(o.object) || rivalFor(o) !== undefined;
  const due = isOthers ? undefined : dueEnd(o, memory);
  const isRenewal = due?.kind === "write" && due.write.op === "patch" && due.write.why === "renewal";
  if (isRenewal) return due;
  const endsInMs = pauseEndsInMs(pauseMs);
  const over = endsInMs === undefined ? {} : { afterMs: Math.max(1000, endsInMs) };
  return { kind: "show", reason: "Paused", message: words.paused, ...over };
}

/** The branch is ours and the status does not say so yet. */
function planLink({ object, linked }: Observation): BranchAction | undefined {
  if (linked === undefined || linked.by !== "note") return undefined;
  const { uid } = object.metadata;
  const { id } = linked.listed;
  const { proof } = object.status;
  if (object.status.branchID === id && proof?.uid === uid && proof.branchID === id) return undefined;
  const news: StatusNews = { branchID: id, proof: { uid, branchID: id, by: "created" }, gone: undefined };
  const message = words.creating.found(branchNameOf(object), id);
  return { kind: "note", news, event: { type: "Normal", reason: "Created", message } };
}

/** The owned Compute is made once there is a branch for it. */
function planCompute({ object, compute }: Observation): BranchAction | undefined {
  if (compute.step !== undefined) return { kind: "compute", step: compute.step };
  if (!compute.isTaken) return undefined;
  return { kind: "show", reason: "Conflict", message: words.computeTaken(object.metadata.name) };
}

function planProtection({ object, linked }: Observation): BranchAction | undefined {
  const { protected: wanted } = object.spec;
  if (linked === undefined || wanted === undefined || linked.by === "none") return undefined;
  const { listed } = linked;
  if (listed.protected === undefined || listed.protected === wanted) return undefined;
  const body = { protected: wanted };
  return { kind: "write", write: { op: "patch", id: listed.id, body, why: "protection", end: undefined } };
}

function planAtRest(o: Observation): BranchAction {
  const { object, linked } = o;
  if (linked === undefined) return { kind: "noop" };
  const { listed, by } = linked;
  const { id, name, current_state: state } = listed;
  if (state !== undefined && state !== "ready") {
    const reason = state === "init" ? "Creating" : "Updating";
    // The service archives what is not used, and brings it back with the next connection.
    if (state !== "archived") return { kind: "show", reason, message: words.initialising(state, id) };
  }
  const declared = branchNameOf(object);
  const adoptsID = object.spec.adopt !== undefined && "branchID" in object.spec.adopt && by === "adopted";
  const namedAs = adoptsID && object.spec.branchName === undefined ? name : declared;
  if (name !== undefined && name !== namedAs) {
    return { kind: "show", reason: "Drifted", message: words.renamed(name, declared) };
  }
  const drifted = isOurs(by) ? drift(o) : undefined;
  if (drifted !== undefined) return { kind: "show", reason: "Drifted", message: drifted };
  return { kind: "show", reason: "Available", message: words.available(name ?? declared, id) };
}
