import type { Endpoint } from "../../../api/endpoint.ts";
import { isInProgress, type Operation, operationOutcome } from "../../../api/operation.ts";
import { compare, type Difference, desiredSpec, isDeprecated } from "../../fields/compare.ts";
import { shownReason } from "../../objects/conditions-of.ts";
import { isObserved } from "../../resources/management-policy.ts";
import { seldomMs, soonMs } from "../../runtime/waits.ts";
import type { ReadonlyState } from "../memory.ts";
import { isOpen } from "../memory.ts";
import { type Observation } from "../observe/observation.ts";
import {
  drifted,
  inProgress,
  movedOutside,
  notKept,
  notMoved,
  observed,
  operationFailed,
  resting,
  waitingForTurn,
  waitingForWindow,
} from "../words/conditions.ts";
import { serviceUnavailable } from "../words/failures.ts";
import { isProgress, type Progress } from "../words/reasons.ts";
import { type Action, leftUntil, noop, type PlanRule } from "./action.ts";
import { unfollowed } from "./branch.ts";
import { type Changes, heldIn, waitingOf } from "./changes.ts";
import { isIdleSeen, rescheduled } from "./disruption.ts";
import { restartNow } from "./restart.ts";
import { awaitsTurn, listedFrom } from "./turn.ts";

type Settled = Extract<Action, { kind: "settled" }>;

/** A list that shows again whether a compute is idle comes after so long, in milliseconds: the usual refresh. */
const idleAgainMs = 30_000;

/**
 * An operation of ours is in progress: nothing else is begun. One that takes too long no longer keeps another from
 * being sent: if it blocks that, the answer is 423.
 */
export const blockingOperation: PlanRule = (o, s) =>
  o.now - (o.busySince ?? o.now) < seldomMs ? operationInProgress(o, s) : undefined;

/** An operation of ours is in progress. The service's own waking and suspending do not count. */
export const operationInProgress: PlanRule = ({ compute, links, operations }, { held }) => {
  if (links.link === undefined) return undefined;
  const { endpoint } = links.link;
  const ours = operations.find(isInProgress);
  const shown = held?.condition.kind === "shown" ? held.condition.reason : shownReason(compute);
  const begun: Progress | undefined = isProgress(shown) ? shown : undefined;
  const changing = begun !== undefined && endpoint.pending_state !== undefined;
  const [newest] = operations;
  // An endpoint whose start failed may stay in this state for ever: `settle` reports that.
  const comingUp = endpoint.current_state === "init" && (newest === undefined || !hasFailed(newest));
  if (ours === undefined && !changing && !comingUp) return undefined;
  const progress =
    begun ??
    (endpoint.current_state === "init" ? "Creating" : ours?.action === "start_compute" ? "Starting" : "Updating");
  return { kind: "wait", reason: progress, message: inProgress(progress, endpoint.id) };
};

function hasFailed({ status }: Operation): boolean {
  return operationOutcome(status) === "failed";
}

/** Nothing is left to do: what the service shows is what was asked for, or all that may be done about it. */
export function settle(o: Observation, s: ReadonlyState): Action {
  const { compute } = o;
  if (o.links.link === undefined) return { kind: "noop" };
  const { endpoint } = o.links.link;
  const failed = currentFailure(endpoint, o.operations, o.lookedUp ?? []);
  if (failed !== undefined) {
    const failures = failed.failures_count ?? 0;
    return { kind: "wait", reason: "OperationFailed", message: operationFailed(failed, failures, endpoint.id) };
  }
  // The next list closes the record: one status says both.
  if (o.laidOver === true && isOpen(s.write) && s.write?.made === endpoint.id) return noop(soonMs);
  const named = unfollowed(o);
  if (named !== undefined && "kind" in named) return named;
  const { differences, unreadable } = compare(desiredSpec(compute), endpoint);
  // Of a Compute that only observes nothing waits: all is drift.
  const held = isObserved(compute) ? [] : heldIn(o, s);
  const shown = differences.filter(({ field }) => !held.some((change) => change.field === field));
  const waits = held.length === 0 ? {} : { waiting: waitingOf(held) };
  const fields = named === undefined ? shown : [named, ...shown];
  const drift = fields.map(({ field, ours, theirs }) => ({ field, ours, theirs }));
  if (isObserved(compute) && (drift.length > 0 || unreadable.length === 0)) {
    return { kind: "settled", reason: "Observed", message: observed.atRest(drift), drift };
  }
  const { branchDrift, driftPolicy } = compute.spec;
  const staysMoved = branchDrift !== "Correct" && driftPolicy === "Correct";
  const moved = staysMoved ? drift.find(({ field }) => field === "branchID") : undefined;
  if (moved !== undefined) {
    if (isIgnoredMove(moved, o, s)) {
      const message = notMoved(moved.theirs, moved.ours, endpoint.id);
      return { kind: "settled", reason: "Drifted", message, drift, ...waits };
    }
    const message = movedOutside(moved.theirs, moved.ours, endpoint.id);
    return { kind: "settled", reason: "MovedOutside", message, drift, ...waits };
  }
  const inTurn = awaitedTurn(held, o, s);
  if (inTurn !== undefined) return { ...inTurn, drift, ...waits };
  if (held.length > 0) {
    // A compute that an older list shows idle may take the change: a newer one tells.
    const again = isIdleSeen(o) ? { requeueAfterMs: idleAgainMs } : {};
    return { kind: "settled", reason: "WaitingForWindow", message: waitingForWindow(held), drift, ...waits, ...again };
  }
  if (drift.length > 0) {
    const message = driftPolicy === "Correct" && drift.every(isDeprecated) ? notKept(drift) : drifted(drift);
    return { kind: "settled", reason: "Drifted", message, drift };
  }
  if (unreadable.length > 0) {
    const which = unreadable.map(({ field }) => field).join(", ");
    const message = serviceUnavailable.unreadableFields(which, endpoint.id);
    return { kind: "wait", reason: "ServiceUnavailable", message };
  }
  const reason = restingState(endpoint);
  return { kind: "settled", reason, message: resting[reason], drift: [] };
}

/** The wait for siblings, of changes or a restart. */
function awaitedTurn(held: Changes["held"], o: Observation, s: ReadonlyState): Omit<Settled, "drift"> | undefined {
  const { siblings, moment } = o;
  // Once another entry of the schedule is in force, no window holds its change.
  const keepsEntry = rescheduled(o, s).size > 0;
  const isChange = held.length > 0 && (moment?.closed === undefined || keepsEntry);
  const isRestart = restartNow(o, s)?.kind === "restart";
  if (siblings === undefined || !(isChange || isRestart) || !awaitsTurn(o, s)) return undefined;
  const wait = { kind: "settled", reason: "WaitingForTurn", ...(keepsEntry ? { keepsEntry } : {}) } as const;
  const { pool, maxUnavailable } = siblings;
  const from = listedFrom(o);
  if (from === undefined) return { ...wait, message: waitingForTurn.siblings(pool, maxUnavailable) };
  return { ...wait, message: waitingForTurn.list(pool), requeueAfterMs: leftUntil(from, o.now) };
}

/** True if the service took a move of ours and left the endpoint where it was; a status that said so still does. */
function isIgnoredMove({ ours }: Difference, { compute }: Observation, { patched }: ReadonlyState): boolean {
  if (patched?.fields.includes("branchID") === true) return true;
  const isReported = compute.status.drift?.some((one) => one.field === "branchID" && one.ours === ours) === true;
  return isReported && shownReason(compute) === "Drifted";
}

/** Resting state of a settled endpoint. Suspending and waking by the service itself is no news. */
function restingState({ disabled, current_state }: Endpoint): keyof typeof resting {
  if (disabled === true) return "Disabled";
  return current_state === "idle" ? "Idle" : "Active";
}

/** A failed operation that nothing has made good since: no later one succeeded, and the compute did not start again. */
function currentFailure(
  endpoint: Endpoint,
  ours: readonly Operation[],
  all: readonly Operation[],
): Operation | undefined {
  return ours.find((failed) => {
    if (operationOutcome(failed.status) !== "failed") return false;
    const over = failed.updated_at ?? failed.created_at ?? "";
    const later = [...ours, ...all].some(
      ({ status, created_at }) => operationOutcome(status) === "done" && (created_at ?? "") > over,
    );
    return !later && !(endpoint.current_state === "active" && (endpoint.started_at ?? "") > over);
  });
}
