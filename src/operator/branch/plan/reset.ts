import { settlesAt, showsAt, type Write } from "../../life/record.ts";
import { shownCondition } from "../../objects/conditions-of.ts";
import type { ResetRecord } from "../../resources/branch.ts";
import type { BranchAction } from "../action.ts";
import type { ReadonlyMemory } from "../memory.ts";
import { annotationOf, isOurs, type Observation } from "../observation.ts";
import { isToNote } from "../record.ts";
import { namesOf, resets } from "../words.ts";

/**
 * One reset for each value of the annotation `resetAt`, at most: recorded with the service's `last_reset_at` before it
 * is sent. Moved means done. Where the service shows no such time, a lost reply is not sent again.
 *
 *   record of this branch's reset | list began                    | action
 *   closed, not in the status yet | any                           | note that it is done
 *   open                          | before the settle time is over | wait
 *   open                          | later, another value is asked | send that
 *   open                          | later                         | a person decides
 *   closed                        | less than 10 s after that     | wait with another value: the list may lack this one
 *   none, unsent or closed        | any                           | send a value that is not carried out
 *
 * While an operation of the last reset is in progress, that is shown; so is one that failed.
 */
export function planReset(o: Observation, { reset }: ReadonlyMemory): BranchAction | undefined {
  const { object, linked, listing } = o;
  const asks = annotationOf(object, "resetAt");
  const { resetAt, observedGeneration = -1 } = object.status;
  if (linked === undefined) return undefined;
  const { listed } = linked;
  const own = reset?.record.branchID === listed.id ? reset : undefined;
  if (own && isToNote(own, object.status)) return done(listed.id);
  const waits = own?.phase === "open" ? planOpen(o, own, asks) : undefined;
  if (waits !== undefined) return waits;
  if (o.resetting === "inProgress") return { kind: "show", reason: "Resetting", message: resets.sent(listed.id) };
  // Until a status was written, a value that is there asks for nothing: that status records it.
  if (asks === undefined || observedGeneration === -1) return undefined;
  if (asks === resetAt) return failed(o, listed.id);
  const refused = refusal(o);
  if (refused !== undefined) return refused;
  const showsLastMs = own === undefined ? 0 : showsAt(own) - listing.startedAt;
  return showsLastMs > 0 ? { kind: "noop", afterMs: showsLastMs } : send(o, asks);
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

/** The request may have been carried out: an earlier term sent it, or this one, without a usable answer. */
function planOpen(
  { listing, createSettleMs }: Observation,
  reset: Write<ResetRecord>,
  asks: string | undefined,
): BranchAction | undefined {
  const { value } = reset.record;
  if (listing.startedAt < settlesAt(reset, createSettleMs)) {
    return { kind: "show", reason: "Resetting", message: resets.waiting };
  }
  if (asks !== undefined && asks !== value) return undefined;
  return { kind: "show", reason: "Rejected", message: resets.unknown(value) };
}

/** The status patch adds the value that is carried out. */
function done(id: string): BranchAction {
  return {
    kind: "note",
    news: {},
    event: { type: "Normal", reason: "Reset", message: resets.done(id) },
  };
}

/** The reset was answered, and its work failed. What says so stands until another value is asked for, or none. */
function failed({ object, resetting }: Observation, id: string): BranchAction | undefined {
  if (resetting !== undefined && resetting !== "inProgress") {
    return { kind: "show", reason: "OperationFailed", message: resets.failed(resetting, id) };
  }
  const { reason, message } = shownCondition(object) ?? {};
  return reason === "OperationFailed" && message !== undefined ? { kind: "show", reason, message } : undefined;
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
