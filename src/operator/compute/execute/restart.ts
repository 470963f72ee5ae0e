import type { Endpoint } from "../../../api/endpoint.ts";
import { isInProgress, type Operation } from "../../../api/operation.ts";
import { guardedPatch } from "../../kube/json-patch.ts";
import type { Compute } from "../../resources/compute.ts";
import { timestamp } from "../../resources/conditions-of.ts";
import { annotations as keys } from "../../resources/names.ts";
import type { Failure } from "../../service-client/answer.ts";
import type { PendingRestart } from "../observe/annotations.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import { wasRestarted } from "../plan/restart.ts";
import { inProgress, restartDone } from "../status/messages/conditions.ts";
import * as events from "../status/messages/events.ts";
import { requests } from "../status/messages/failures.ts";
import { recordAnswer } from "./answered.ts";
import type { ExecuteContext, ServiceAccess } from "./context.ts";
import { recordFailedWrite } from "./deferred.ts";
import { noted, patched } from "./patch-metadata.ts";

type Restart = Extract<Action, { kind: "restart" }>;

/** Marks give their time in whole seconds. */
const aSecondMs = 1000;

/** Mark, then POST: a restart whose reply is lost then differs from one that was never sent. */
export async function restartEndpoint(
  action: Restart,
  context: ExecuteContext,
  access: ServiceAccess,
): Promise<Outcome> {
  const { compute, annotations, state, clock, signal, cluster } = context;
  const { lister, client } = access;
  const { endpointID, value } = action;
  const seen = lister.listing?.endpoints.find(({ id }) => id === endpointID);
  const latest = await lister.operations.latest(endpointID, client);
  // Without them a restart whose reply is lost would look like one that was never sent.
  if (latest.kind === "failed") {
    return recordFailedWrite(action, latest.failure, requests.listOperations(endpointID), compute, context, access);
  }
  const before = latest.kind === "listed" ? latest.operations : undefined;
  const earlier = annotations.pendingRestart?.value === value ? annotations.pendingRestart : undefined;
  // The action may have been planned without them, if they could not be read then.
  if (earlier !== undefined && wasRestarted(earlier, seen ?? {}, before ?? [])) return restarted(action, context);
  const marked = await markRestart(value, seen?.started_at, before, context);
  const answer = await client.restartEndpoint(compute.spec.projectID, endpointID, signal);
  recordAnswer(answer, { endpointID }, context, access);
  if (answer.kind === "ok") {
    state.succeeded();
    state.restarted(value);
    const { operations } = answer.value;
    return shown(marked, "Restarting", inProgress("Restarting", endpointID), {
      effect: { kind: "restarted", value, operations },
      events: [{ type: "Normal", reason: "Restarted", message: events.restarted(endpointID) }],
    });
  }
  const doing = requests.restart(endpointID);
  if (answer.kind === "ambiguous") return recordFailedWrite(action, answer, doing, marked, context, access);
  const resting = answer.kind === "refused" ? await doesRest(endpointID, seen, context, access) : false;
  // A compute that does not run counts as restarted: its next start is a fresh one.
  if (resting === true) {
    state.restarted(value);
    return unchanged(marked, { effect: { kind: "restarted", value, operations: [] } });
  }
  // If it could not be asked just now, it is asked soon, and not only when a refused write is repeated.
  const outcome = recordFailedWrite(action, resting === false ? answer : resting, doing, marked, context, access);
  // This POST did nothing. An earlier one of unknown outcome may be why it was refused: the mark of that stays.
  const patch = guardedPatch(marked).setAnnotation(keys.pendingRestart, earlier && JSON.stringify(earlier));
  try {
    return { ...outcome, compute: await patched(cluster, patch, marked) };
  } catch (error) {
    // It may arrive late, and must not fit the next mark: that is of another second.
    const { failedWrite } = state.known;
    const now = clock.monotonic();
    if (failedWrite && failedWrite.until < now + aSecondMs) state.failed(failedWrite, aSecondMs, now);
    throw error;
  }
}

/** A marked restart that shows at the service is done. */
export function restarted(
  { endpointID, value }: Pick<Restart, "endpointID" | "value">,
  { compute, state }: ExecuteContext,
): Outcome {
  // An event has said so already where only the status could not be written.
  const isNews = state.known.restarted !== value;
  state.restarted(value);
  return shown(compute, "Restarting", restartDone(endpointID), {
    effect: { kind: "restarted", value, operations: [] },
    events: isNews ? [{ type: "Normal", reason: "Restarted", message: events.restarted(endpointID) }] : [],
  });
}

/** Whether a compute does not run: asked now, for it may have woken since the list. Some services show lists alone. */
async function doesRest(
  endpointID: string,
  listed: Endpoint | undefined,
  { compute: { spec }, signal }: ExecuteContext,
  { client }: ServiceAccess,
): Promise<boolean | Failure> {
  const answer = await client.getEndpoint(spec.projectID, endpointID, signal);
  if (answer.kind !== "ok" && answer.kind !== "notFound") return answer;
  const endpoint = answer.kind === "ok" ? answer.value : listed;
  if (endpoint === undefined) return false;
  return endpoint.disabled === true || (endpoint.current_state === "idle" && endpoint.pending_state !== "active");
}

async function markRestart(
  value: string,
  startedAt: string | undefined,
  operations: readonly Operation[] | undefined,
  { compute, cluster, clock }: ExecuteContext,
): Promise<Compute> {
  const mark: PendingRestart = {
    uid: compute.metadata.uid,
    since: timestamp(clock.now()),
    value,
    ...timesOf(operations),
    ...(startedAt === undefined ? {} : { startedAt }),
  };
  const patch = guardedPatch(compute, { resourceVersion: true });
  return noted(cluster, patch.setAnnotation(keys.pendingRestart, JSON.stringify(mark)), compute);
}

/** What is known of an endpoint's operations before a restart, by the service's own clock. */
function timesOf(
  operations: readonly Operation[] | undefined,
): Pick<PendingRestart, "newestOperation" | "restedSince"> {
  if (operations === undefined) return {};
  const newest = (times: readonly string[]) => times.reduce((latest, time) => (time > latest ? time : latest), "");
  const newestOperation = newest(operations.map(({ created_at }) => created_at ?? ""));
  const ends = operations.flatMap((operation) =>
    operation.updated_at === undefined || isInProgress(operation) ? [] : [operation.updated_at],
  );
  return ends.length < operations.length ? { newestOperation } : { newestOperation, restedSince: newest(ends) };
}
