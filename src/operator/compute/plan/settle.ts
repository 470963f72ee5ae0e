import type { Endpoint } from "../../../api/endpoint.ts";
import { mostLagMs } from "../../../api/list-lag.ts";
import { isInProgress, type Operation, operationOutcome } from "../../../api/operation.ts";
import { compare, desiredSpec } from "../../fields/compare.ts";
import { type Observation, shownReason } from "../observe/observation.ts";
import type { ReadonlyState } from "../remembered.ts";
import { isOpen } from "../remembered.ts";
import { drifted, inProgress, movedOutside, operationFailed, resting } from "../words/conditions.ts";
import { serviceUnavailable } from "../words/failures.ts";
import { isProgress, type Progress } from "../words/reasons.ts";
import { type Action, noop, type PlanRule } from "./action.ts";
import { unfollowed } from "./branch.ts";
import { deleteDueInMs } from "./lost.ts";
import { listedSoonMs, openMs } from "./pending.ts";

/** A change in progress for this long no longer keeps another from being sent: if it blocks that, the answer is 423. */
const blocksForMs = 600_000;

/** An operation of ours is in progress: nothing else is begun, unless it takes too long. */
export const blockingOperation: PlanRule = (o, s) =>
  o.now - (o.busySince ?? o.now) < blocksForMs ? operationInProgress(o, s) : undefined;

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
  if (o.laidOver === true && isOpen(s.write) && s.write?.made === endpoint.id) return noop(listedSoonMs);
  // Only time shows that a duplicate is to be deleted once more, or that note or record may go.
  const duplicates = o.links.duplicates.map(({ id }) => deleteDueInMs(o, s, id));
  const openForMs = openMs(o, s);
  const times = [...duplicates, noteClearsInMs(o, s, endpoint), openForMs].filter((ms) => ms > 0);
  const due = times.length > 0 ? { requeueAfterMs: Math.min(...times) } : {};
  const named = unfollowed(o);
  if (named !== undefined && "kind" in named) return named;
  const { differences, unreadable } = compare(desiredSpec(compute), endpoint);
  const fields = named === undefined ? differences : [named, ...differences];
  const drift = fields.map(({ field, ours, theirs }) => ({ field, ours, theirs }));
  const { branchDrift, driftPolicy } = compute.spec;
  const staysMoved = branchDrift !== "Correct" && driftPolicy === "Correct";
  const moved = staysMoved ? drift.find(({ field }) => field === "branchID") : undefined;
  if (moved !== undefined) {
    const message = movedOutside(moved.theirs, moved.ours, endpoint.id);
    return { kind: "settled", reason: "MovedOutside", message, drift, ...due };
  }
  if (drift.length > 0) {
    return { kind: "settled", reason: "Drifted", message: drifted(drift), drift, ...due };
  }
  if (unreadable.length > 0) {
    const which = unreadable.map(({ field }) => field).join(", ");
    const message = serviceUnavailable.unreadableFields(which, endpoint.id);
    return { kind: "wait", reason: "ServiceUnavailable", message, ...due };
  }
  const reason = restingState(endpoint);
  return { kind: "settled", reason, message: resting[reason], drift: [], ...due };
}

/** After when a list that shows the endpoint enabled clears `disabledByUs`: nothing can disable it any more. */
export function noteClearsAt(disableNotedAt: number, createSettleMs: number): number {
  return disableNotedAt + createSettleMs + mostLagMs;
}

/** In how many milliseconds a list may clear `disabledByUs`; 0: this one does, or nothing is to be cleared. */
function noteClearsInMs(o: Observation, { disableNotedAt }: ReadonlyState, { disabled }: Endpoint): number {
  if (o.compute.status.disabledByUs !== true || disabled !== false || disableNotedAt === undefined) return 0;
  const clearsAt = noteClearsAt(disableNotedAt, o.createSettleMs);
  return o.startedAt >= clearsAt ? 0 : Math.max(1, clearsAt - o.now);
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
