import type { EndpointState } from "../../api/endpoint.ts";
import { schedule, steps } from "../computes/chain.ts";
import { suspendDue } from "../computes/inactivity.ts";
import { meter } from "../computes/meter.ts";
import type { ServiceContext } from "../context.ts";
import { messageOf } from "../error-message.ts";
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

/** Time after which an event that fails is tried again, in milliseconds. */
const putOffMs = 600_000;

/**
 * Carries out, in order, what is due at `now`, at most so many events, and for no long time if not all: operations
 * finish and the next ones start, connections close, computes suspend. Nothing else drives timers, so they survive a
 * restart of the process. An event that fails for a mistake of ours holds up its own compute or branch alone: it is put
 * off, and what later ones do comes before it, also in the record of usage. Answers the errors, each kind once. To be
 * called in a transaction.
 */
export function settle(context: ServiceContext, now: number, most: number): Map<string, unknown> {
  const { clock, store } = context;
  const errors = new Map<string, unknown>();
  const end = most === Number.POSITIVE_INFINITY ? most : clock.now() + longestTurnMs;
  for (let count = 0; count < most && (count === 0 || clock.now() < end); count += 1) {
    const event = nextEvent(context);
    if (!event || event.at > now) break;
    const error = store.part(() => event.happen());
    if (error === undefined) continue;
    errors.set(messageOf(error), error);
    // In whole seconds, as the ends of branches are.
    event.putOff(Math.ceil((now + putOffMs) / 1000) * 1000);
  }
  return errors;
}

/** Clears rows of what was deleted, for no long time. To be called in a transaction. */
export function clear({ store, clock }: ServiceContext): void {
  const end = clock.now() + longestTurnMs;
  while (store.removed.clearSome() && clock.now() < end);
}

interface DueEvent {
  at: number;
  happen(): void;
  /** Gives it a later time. */
  putOff(at: number): void;
}

function nextEvent(context: ServiceContext): DueEvent | undefined {
  const { operations, connections, endpoints, branches } = context.store;
  const events: DueEvent[] = [];
  const operation = operations.nextToFinish();
  if (operation?.due !== undefined) {
    const at = operation.due;
    const putOff = (later: number) => operations.postpone(operation.seq, later);
    events.push({ at, happen: () => finish(context, operation, at), putOff });
  }
  const connection = connections.nextToClose();
  if (connection) {
    const { id, endpointId, closesAt } = connection;
    const putOff = (later: number) => connections.postpone(id, later);
    events.push({ at: closesAt, happen: () => closeConnection(context, id, endpointId, closesAt), putOff });
  }
  const idle = endpoints.nextToSuspend();
  if (idle) {
    const { id, due: at } = idle;
    const putOff = (later: number) => endpoints.postpone(id, later);
    events.push({ at, happen: () => suspendIdle(context, id, at), putOff });
  }
  const [expiring, forgotten] = [branches.nextToExpire(), branches.nextToForget()];
  const ends = [
    expiring && { ...expiring, happen: () => expire(context, expiring.id, expiring.due) },
    forgotten && { ...forgotten, happen: () => branches.delete(forgotten.id) },
  ];
  for (const end of ends) {
    if (end) events.push({ at: end.due, happen: end.happen, putOff: (later) => branches.postpone(end.id, later) });
  }
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

function expire(context: ServiceContext, id: string, at: number): void {
  removeBranch(context, required("branch", context.store.branches.byId(id)), { method: "ttl" }, at);
}

function suspendIdle(context: ServiceContext, id: string, at: number): void {
  const endpoint = required("endpoint", context.store.endpoints.byId(id));
  schedule(context, { endpoint, at, pendingState: "idle" }, [steps.suspend]);
}
