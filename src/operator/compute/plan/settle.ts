import type { Endpoint } from "../../../api/endpoint.ts";
import { type Operation, operationOutcome } from "../../../api/operation.ts";
import type { EndpointSnapshot, PlanInput } from "../observe/plan-input.ts";
import { drifted, operationFailed, resting } from "../status/messages/conditions.ts";
import { serviceUnavailable } from "../status/messages/failures.ts";
import type { Action } from "./action.ts";
import { deleteDueInMs } from "./delete-backoff.ts";
import { desiredSpec } from "./desired-spec.ts";
import { compare } from "./fields.ts";
import { mayArriveForMs } from "./pending.ts";

/** Nothing is left to do: what the service shows is what was asked for, or all that may be done about it. */
export function settle(view: PlanInput, list: EndpointSnapshot): Action {
  const { compute } = view;
  if (list.links.link === undefined) return { kind: "noop" };
  const { endpoint, proof } = list.links.link;
  const failed = currentFailure(endpoint, list.operations, list.lookedUp ?? []);
  if (failed !== undefined) {
    const failures = failed.failures_count ?? 0;
    return { kind: "wait", reason: "OperationFailed", message: operationFailed(failed, failures, endpoint.id) };
  }
  // Nothing but the time tells that a mark has done its work, or that a surplus endpoint is to be deleted once more, or
  // that no write that disables can take effect any more.
  const duplicates = list.links.duplicates.map(({ id }) => deleteDueInMs(view, id));
  const disableInMs = disableMayArriveForMs(view, list);
  const times = [mayArriveForMs(view, proof), ...duplicates, disableInMs].filter((ms) => ms > 0);
  const look = times.length > 0 ? { requeueAfterMs: Math.min(...times) } : {};
  const over = disableInMs === 0 && compute.status.unansweredDisables !== undefined;
  const disables = over ? { disablesOver: true as const } : {};
  const { differences, unreadable } = compare(desiredSpec(compute), endpoint);
  const drift = differences.map(({ field, ours, theirs }) => ({ field, ours, theirs }));
  if (drift.length > 0) {
    return { kind: "settled", reason: "Drifted", message: drifted(drift), drift, ...look, ...disables };
  }
  if (unreadable.length > 0) {
    const which = unreadable.map(({ field }) => field).join(", ");
    const message = serviceUnavailable.unreadableFields(which, endpoint.id);
    return { kind: "wait", reason: "ServiceUnavailable", message, ...look };
  }
  const reason = restingState(endpoint);
  return { kind: "settled", reason, message: resting[reason], drift: [], ...look, ...disables };
}

/**
 * For how many milliseconds a PATCH that disables the endpoint, and got no answer, may still take effect unseen; 0: the
 * list was begun after that.
 */
function disableMayArriveForMs(
  { compute, memory, now, createSettleMs }: PlanInput,
  { startedAt }: EndpointSnapshot,
): number {
  if ((compute.status.unansweredDisables ?? 0) === 0) return 0;
  const overAt = (memory.unansweredDisableSince ?? now) + createSettleMs;
  return startedAt >= overAt ? 0 : Math.max(1, overAt - now);
}

/** What a settled endpoint does. Suspending and waking by the service itself is no news. */
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
