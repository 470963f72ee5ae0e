import { mostLagMs } from "../../../api/list-lag.ts";
import { isInProgress } from "../../../api/operation.ts";
import { conditionOf } from "../../objects/conditions-of.ts";
import type { ReadonlyState } from "../memory.ts";
import type { Observation, Observed } from "../observe/observation.ts";
import { isFaulty, isProgress } from "../words/reasons.ts";
import { type Action, isWrite } from "./action.ts";
import { isIdleSeen, isListFresh } from "./disruption.ts";

// Members of a pool change one after another. A write that cuts connections (an edit, an entry of the schedule, a
// correction of drift, a restart) is sent while fewer than `maxUnavailable` siblings are unavailable:
//
//   the member                       | siblings unavailable | this term has a list | the write
//   has such a write itself          | any                  | any                  | is sent
//   not ready by a fault             | any                  | any                  | is sent
//   seen idle, so that nothing is cut | any                 | any                  | is sent
//   else                             | any                  | no                   | waits until it has one
//   else                             | fewer                | yes                  | is sent
//   else                             | maxUnavailable       | yes                  | waits
//
// An earlier term may have sent such a write for a sibling without a trace in any status, so a term first waits for a
// list that must show it: one that began once older lists can lag no more.

/** True if a write that cuts connections waits: for siblings, or for a list in a new term. */
export function awaitsTurn(o: Observation, s: ReadonlyState): boolean {
  const { siblings, compute } = o;
  if (siblings === undefined || s.cutAt !== undefined) return false;
  const ready = conditionOf(compute.status, "Ready");
  if (ready?.status !== "True" && isFaulty(ready?.reason)) return false;
  if (isListFresh(o) && isIdleSeen(o)) return false;
  return listedFrom(o) !== undefined || siblings.unavailable(o.endpoints) >= siblings.maxUnavailable;
}

/** The question for the turn of a member of a pool; `undefined`: nobody waits for this Compute. */
export function turnOf(observed: Observed, state: { readonly known: ReadonlyState }): (() => boolean) | undefined {
  if (observed.kind !== "observed" || observed.siblings === undefined) return undefined;
  return () => !awaitsTurn(observed, state.known);
}

/** Time from which the list must begin that a new term waits for; `undefined`: the list at hand did. */
export function listedFrom({ siblings, startedAt }: Observation): number | undefined {
  const from = siblings === undefined ? startedAt : siblings.termSince + mostLagMs;
  return startedAt < from ? from : undefined;
}

/**
 * True once a list that began after a write which cuts connections shows its end, and the status says so: from then on
 * the condition tells whether the member is ready.
 */
export function isCutOver(o: Observed, { cutAt, held }: ReadonlyState, action: Action): boolean {
  if (cutAt === undefined || o.kind !== "observed" || held !== undefined || isWrite(action)) return false;
  if (o.startedAt <= Math.max(cutAt, o.operationsEndedAt ?? cutAt) || o.laidOver === true) return false;
  if (action.kind === "noop" || (action.kind === "wait" && isProgress(action.reason))) return false;
  return o.links.link?.endpoint.pending_state === undefined && !o.operations.some(isInProgress);
}
