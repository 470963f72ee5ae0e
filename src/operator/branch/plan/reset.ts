import { mostLagMs } from "../../../api/list-lag.ts";
import type { BranchAction } from "../action.ts";
import { annotationOf, isOurs, type Observation } from "../observation.ts";
import type { ReadonlyMemory } from "../state.ts";
import { namesOf, resets } from "../words.ts";

/**
 * One reset for each value of the annotation `resetAt`, at most: recorded with the service's `last_reset_at` before it
 * is sent. Moved means done. Where the service shows no such time, a lost reply is not sent again.
 */
export function planReset(o: Observation, memory: ReadonlyMemory): BranchAction | undefined {
  const { object, linked } = o;
  const asks = annotationOf(object, "resetAt");
  const { pendingWrite, resetAt } = object.status;
  if (linked === undefined) return undefined;
  const { listed } = linked;
  if (pendingWrite?.branchID === listed.id && pendingWrite.uid === object.metadata.uid) {
    const { value, lastResetAt } = pendingWrite;
    const known = memory.reset?.value === value ? memory.reset : undefined;
    const isDone = known?.fate === "answered" || listed.last_reset_at !== lastResetAt;
    if (isDone) return done(listed.id, value);
    if (known?.fate === "unsent" && asks !== value) return { kind: "note", news: { pendingWrite: undefined } };
    const since = known?.at ?? memory.seenSince;
    const settled = known?.fate === "unsent" ? undefined : planUnanswered(o, since, pendingWrite);
    if (settled !== undefined) return settled;
  }
  // Until a status was written, a value that is there asks for nothing: that status records it.
  const isFirst = (object.status.observedGeneration ?? -1) === -1;
  if (asks === undefined || asks === resetAt || isFirst) return undefined;
  return refusal(o) ?? send(o, asks);
}

function send({ linked, listing }: Observation, value: string): BranchAction {
  const { id = "", parent_id: sourceID, last_reset_at: lastResetAt, current_state: state } = linked?.listed ?? {};
  if (sourceID === undefined || listing.byID(sourceID) === undefined) {
    return { kind: "show", reason: "Rejected", message: resets.noParent };
  }
  if (state !== undefined && state !== "ready") {
    return { kind: "show", reason: "Resetting", message: resets.running(state, id) };
  }
  return { kind: "write", write: { op: "reset", id, sourceID, value, lastResetAt } };
}

/** The request may have been sent: by an earlier term, or by this one, without a usable answer. */
function planUnanswered(
  o: Observation,
  since: number,
  record: { value: string; lastResetAt?: string | undefined },
): BranchAction | undefined {
  if (o.listing.startedAt < since + o.createSettleMs + mostLagMs) {
    return { kind: "show", reason: "Resetting", message: resets.waiting };
  }
  // The record has shown the time before, so an unchanged one proves that nothing was done.
  if (record.lastResetAt !== undefined) return undefined;
  const asks = annotationOf(o.object, "resetAt");
  if (asks !== undefined && asks !== record.value) return undefined;
  return { kind: "show", reason: "Rejected", message: resets.unknown(record.value) };
}

/** The life of the branch begins again with a reset: its end is sent again. */
export function done(id: string, value: string): BranchAction {
  return {
    kind: "note",
    news: { resetAt: value, pendingWrite: undefined, appliedExpiry: undefined },
    event: { type: "Normal", reason: "Reset", message: resets.done(id) },
  };
}

function refusal({ linked, listing }: Observation): BranchAction | undefined {
  if (linked === undefined) return undefined;
  const { listed, by } = linked;
  if (!isOurs(by)) return { kind: "show", reason: "Rejected", message: resets.adopted };
  if (listed.default === true || listed.protected === true) {
    return { kind: "show", reason: "Protected", message: resets.protected(listed.id) };
  }
  const children = listing.childrenOf(listed.id).map(({ name, id }) => name ?? id);
  if (children.length === 0) return undefined;
  return { kind: "show", reason: "HasChildren", message: resets.children(namesOf(children)) };
}
