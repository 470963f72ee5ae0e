import type { EndpointState } from "../../api/endpoint.ts";
import { schedule, steps } from "../computes/chain.ts";
import { suspendDue } from "../computes/inactivity.ts";
import { meter } from "../computes/meter.ts";
import type { ServiceContext } from "../context.ts";
import { required } from "../refusal.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { StoredOperation } from "../store/operations.ts";
import { removeBranch } from "./recovery.ts";

/** Time of the next timer, in milliseconds since the epoch; `undefined` if there is none. */
export function nextDue(context: ServiceContext): number | undefined {
  return nextEvent(context)?.at;
}

/** The most events of one turn of the loop: a tenant chooses how many are due at one time. */
export const mostAtOnce = 100;

/** The time after which such a turn begins no other event, in milliseconds: one may take as long as many. */
const longestTurnMs = 25;

/**
 * Carries out, in order, what is due at `now`, at most so many events, and for no long time if not all: operations
 * finish and the next ones start, connections close, computes suspend. Nothing else drives timers, so they survive a
 * restart of the process. To be called in a transaction.
 */
export function settle(context: ServiceContext, now: number, most: number): void {
  const { clock } = context;
  const end = most === Number.POSITIVE_INFINITY ? most : clock.now() + longestTurnMs;
  for (let count = 0; count < most && (count === 0 || clock.now() < end); count += 1) {
    const event = nextEvent(context);
    if (!event || event.at > now) break;
    event.happen();
  }
}

/** Clears rows of what was deleted, for no long time. To be called in a transaction. */
export function clear({ store, clock }: ServiceContext): void {
  const end = clock.now() + longestTurnMs;
  while (store.removed.clearSome() && clock.now() < end);
}

interface DueEvent {
  at: number;
  happen(): void;
}

function nextEvent(context: ServiceContext): DueEvent | undefined {
  const { operations, connections, endpoints, branches } = context.store;
  const events: DueEvent[] = [];
  const operation = operations.nextToFinish();
  if (operation?.due !== undefined) {
    const at = operation.due;
    events.push({ at, happen: () => finish(context, operation, at) });
  }
  const connection = connections.nextToClose();
  if (connection) {
    const { id, endpointId, closesAt } = connection;
    events.push({ at: closesAt, happen: () => closeConnection(context, id, endpointId, closesAt) });
  }
  const idle = endpoints.nextToSuspend();
  if (idle) events.push({ at: idle.due, happen: () => suspendIdle(context, idle.id, idle.due) });
  const expiring = branches.nextToExpire();
  if (expiring) {
    const { branch, due } = expiring;
    events.push({ at: due, happen: () => removeBranch(context, branch, { method: "ttl" }, due) });
  }
  const forgotten = branches.nextToForget();
  if (forgotten) events.push({ at: forgotten.due, happen: () => branches.delete(forgotten.id) });
  return events.toSorted((one, other) => one.at - other.at)[0];
}

/** Ends an operation, and begins what waits for it. One with an error fails; what waits for it is cancelled. */
export function finish(context: ServiceContext, operation: StoredOperation, at: number): void {
  const { operations } = context.store;
  const ended = [operation];
  if (operation.error === undefined) {
    operations.setStatus(operation.seq, "finished", at, undefined);
    takeEffect(context, operation, at);
    const next = operations.nextInChain(operation);
    if (next) operations.setStatus(next.seq, "running", at, context.backend.endOf(at, next.durationMs));
  } else {
    ended.push(...operations.fail(operation, at));
  }
  for (const endpointId of new Set(ended.map((one) => one.endpointId ?? ""))) leaveOperation(context, endpointId, at);
  leaveReset(context, operation, at);
}

/** A restored branch can be used again when the operations of its computes have ended, well or not. */
function leaveReset({ store }: ServiceContext, { projectId, branchId = "" }: StoredOperation, at: number): void {
  if (store.branches.byId(branchId)?.currentState !== "resetting") return;
  if (!store.operations.anyUnfinishedOn(projectId, branchId)) store.branches.setState(branchId, "ready", at);
}

/** Brings a compute whose operation has ended out of its transition, unless others of it follow. */
function leaveOperation(context: ServiceContext, endpointId: string, at: number): void {
  const { endpoints, operations } = context.store;
  const endpoint = endpoints.byId(endpointId);
  if (!endpoint) return;
  if (operations.unfinishedOf(endpoint.projectId, endpoint.id).length === 0) {
    endpoint.pendingState = undefined;
    // A compute whose first start failed exists nevertheless and can be started again.
    if (endpoint.currentState === "init") endpoint.currentState = "idle";
  }
  endpoint.updatedAt = at;
  endpoint.suspendDue = suspendDue(context, endpoint, at);
  endpoints.update(endpoint);
}

function takeEffect(context: ServiceContext, { effect, endpointId, branchId }: StoredOperation, at: number): void {
  const endpoint = context.store.endpoints.byId(endpointId ?? "");
  switch (effect) {
    case "start":
      if (!endpoint) break;
      become(context, endpoint, "active", { startedAt: at, lastActive: at }, at);
      // The branch's creation may have failed before.
      becomeReady(context, endpoint.branchId, at);
      break;
    case "suspend":
      if (endpoint) become(context, endpoint, "idle", { suspendedAt: at }, at);
      break;
    case "branch-ready":
      becomeReady(context, branchId ?? "", at);
      break;
    case "none":
      break;
  }
}

function become(
  context: ServiceContext,
  endpoint: StoredEndpoint,
  state: EndpointState,
  times: Partial<StoredEndpoint>,
  at: number,
): void {
  Object.assign(endpoint, { currentState: state }, times);
  meter(context, endpoint, at);
  context.store.endpoints.update(endpoint);
}

/** Ends the creation of a branch: it has data. */
export function becomeReady({ store: { branches } }: ServiceContext, branchId: string, at: number): void {
  if (branches.byId(branchId)?.currentState === "init") branches.setState(branchId, "ready", at);
}

function closeConnection(context: ServiceContext, id: number, endpointId: string, at: number): void {
  const { connections, endpoints } = context.store;
  const endpoint = endpoints.byId(endpointId);
  // A deleted project still has some.
  if (!endpoint) return connections.close(id);
  meter(context, endpoint, at);
  connections.close(id);
  endpoint.lastActive = at;
  endpoint.suspendDue = suspendDue(context, endpoint, at);
  endpoints.update(endpoint);
}

function suspendIdle(context: ServiceContext, id: string, at: number): void {
  const endpoint = required("endpoint", context.store.endpoints.byId(id));
  schedule(context, { endpoint, at, pendingState: "idle" }, [steps.suspend]);
}
