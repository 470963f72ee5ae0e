import type { Endpoint } from "../../../api/endpoint.ts";
import { type Operation, operationOutcome } from "../../../api/operation.ts";
import { guardedPatch } from "../../kube/json-patch.ts";
import type { Compute } from "../../resources/compute.ts";
import { timestamp } from "../../resources/conditions-of.ts";
import { annotations } from "../../resources/names.ts";
import type { Failure } from "../../service-client/answer.ts";
import { type PendingRestart, pendingRestartOf } from "../observe/pending-operations.ts";
import { generationOf } from "../observe/plan-input.ts";
import { type EventRecord, type Outcome, shown, unchanged } from "../outcome.ts";
import type { Action } from "../plan/action.ts";
import type { Attributes } from "../plan/fields.ts";
import { wasRestarted } from "../plan/restart.ts";
import { inProgress, restarting } from "../status/messages/conditions.ts";
import { deleted, deleting, orRetain, released } from "../status/messages/deletion.ts";
import * as events from "../status/messages/events.ts";
import { requests } from "../status/messages/failures.ts";
import type { ExecuteContext } from "./context.ts";
import { recordFailedWrite } from "./failed-write.ts";
import { changing } from "./failures.ts";
import { noteDisabling, patched, release } from "./patched.ts";

export async function patchEndpoint(
  action: Extract<Action, { kind: "patch" }>,
  before: Compute,
  context: ExecuteContext,
): Promise<Outcome> {
  const { watcher, client, memory, clock, signal } = context;
  const { endpointID, attributes } = action;
  const unanswered = before.status.unansweredDisables ?? 0;
  const compute = await noteDisabling(attributes, before, context, Math.min(2, unanswered + 1));
  const { projectID } = compute.spec;
  const answer = await client.patchEndpoint(projectID, endpointID, { endpoint: attributes }, signal);
  memory.listsCountAfter = watcher.wrote(endpointID);
  if (answer.kind !== "ok") {
    const disables = attributes.disabled === true ? afterFailedDisable(answer, unanswered, context) : {};
    return { ...recordFailedWrite(action, answer, changing(compute, action), compute, context), ...disables };
  }
  delete memory.failedWrite;
  const generation = generationOf(compute);
  const again = memory.patched?.generation === generation ? memory.patched.tries + 1 : 0;
  memory.patched = { generation, fields: action.fields, listsWithout: [], at: clock.monotonic(), tries: again };
  memory.accepted = { endpointID, generation };
  memory.applied = { generation, drift: compute.status.drift ?? memory.applied?.drift ?? [] };
  if (action.corrects.length > 0) {
    memory.corrections = [...memory.corrections, { generation, at: clock.monotonic() }].slice(-10);
  }
  const { endpoint, operations } = answer.value;
  watcher.operations.follow(operations);
  return shown(compute, action.progress, inProgress(action.progress, endpointID), {
    ...(endpoint === undefined ? {} : { endpoint }),
    operations,
    applied: generation,
    ...disabledBy(attributes, endpoint, unanswered),
    notes: [patchNote(action)],
  });
}

/** Enabling counts once the endpoint is seen enabled, or at once where the service never shows that. */
function disabledBy(
  { disabled }: Attributes,
  endpoint: Endpoint | undefined,
  unanswered: number,
): Pick<Outcome, "disabledByUs" | "unansweredDisables"> {
  // An earlier one is no longer told from this one by an endpoint that is seen disabled.
  if (disabled === true) return { disabledByUs: true, unansweredDisables: unanswered === 0 ? 0 : 2 };
  if (disabled === undefined) return {};
  // To be enabled, it was seen disabled: the only unanswered one had taken effect.
  const arrived = unanswered === 1 ? { unansweredDisables: 0 } : {};
  return endpoint !== undefined && endpoint.disabled === undefined ? { disabledByUs: false, ...arrived } : arrived;
}

/** What is known of a PATCH that disables and was not accepted; `unanswered`: how many were before it. */
function afterFailedDisable(
  { kind }: Failure,
  unanswered: number,
  { memory, clock }: ExecuteContext,
): Pick<Outcome, "disabledByUs" | "unansweredDisables"> {
  if (kind === "ambiguous") {
    memory.unansweredDisableSince = clock.monotonic();
    return {};
  }
  const refused = kind === "refused" && unanswered === 0 ? { disabledByUs: false } : {};
  return { ...refused, unansweredDisables: unanswered };
}

function patchNote({ corrects, endpointID, fields, attributes }: Extract<Action, { kind: "patch" }>): EventRecord {
  if (corrects.length > 0) {
    return { type: "Normal", reason: "DriftCorrected", message: events.driftCorrected(corrects) };
  }
  if (attributes.branch_id !== undefined) {
    return { type: "Normal", reason: "Moved", message: events.moved(endpointID, attributes.branch_id) };
  }
  return { type: "Normal", reason: "Patched", message: events.patched(endpointID, fields) };
}

/** Mark, then POST: a restart whose reply is lost can then be told from one that was never sent. */
export async function restartEndpoint(
  action: Extract<Action, { kind: "restart" }>,
  compute: Compute,
  context: ExecuteContext,
): Promise<Outcome> {
  const { watcher, client, memory, signal } = context;
  const { endpointID, value } = action;
  const seen = watcher.listing?.endpoints.find(({ id }) => id === endpointID);
  const latest = await watcher.operations.latest(endpointID, client);
  // Without them a restart whose reply is lost could not be told from one that was never sent.
  if (latest.kind === "failed") {
    return recordFailedWrite(action, latest.failure, requests.listOperations(endpointID), compute, context);
  }
  const before = latest.kind === "listed" ? latest.operations : undefined;
  const mark = pendingRestartOf(compute);
  const earlier = mark?.value === value ? mark : undefined;
  // The plan may have been made without them, where they could not be read at that time.
  if (earlier !== undefined && wasRestarted(earlier, seen ?? {}, before ?? []))
    return restarted({ endpointID, value }, compute, context);
  const marked = await markRestart(value, seen?.started_at, before, compute, context);
  const answer = await client.restartEndpoint(compute.spec.projectID, endpointID, signal);
  memory.listsCountAfter = watcher.wrote(endpointID);
  if (answer.kind === "ok") {
    delete memory.failedWrite;
    memory.restarted = value;
    const { operations } = answer.value;
    watcher.operations.follow(operations);
    return shown(marked, "Restarting", inProgress("Restarting", endpointID), {
      operations,
      restarted: value,
      notes: [{ type: "Normal", reason: "Restarted", message: events.restarted(endpointID) }],
    });
  }
  if (answer.kind === "ambiguous")
    return recordFailedWrite(action, answer, requests.restart(endpointID), marked, context);
  const resting = answer.kind === "refused" ? await doesRest(endpointID, seen, compute, context) : false;
  // A compute that does not run is as good as restarted: its next start is a fresh one.
  if (resting === true) {
    memory.restarted = value;
    return { ...unchanged(marked), restarted: value };
  }
  const unmarked = await clearPending(earlier, marked, context);
  // Where that could not be asked just now, it is soon, and not only when a refusal is tried again.
  return recordFailedWrite(
    action,
    resting === false ? answer : resting,
    requests.restart(endpointID),
    unmarked,
    context,
  );
}

/** A marked restart that shows at the service is done. */
export function restarted(
  { endpointID, value }: Pick<Extract<Action, { kind: "restarted" }>, "endpointID" | "value">,
  compute: Compute,
  { memory }: Pick<ExecuteContext, "memory">,
): Outcome {
  memory.restarted = value;
  return shown(compute, "Restarting", restarting.done(endpointID), {
    restarted: value,
    notes: [{ type: "Normal", reason: "Restarted", message: events.restarted(endpointID) }],
  });
}

/** This POST did nothing. Of an earlier one nothing is known yet, and it may be what was in the way: its mark stays. */
function clearPending(
  earlier: PendingRestart | undefined,
  marked: Compute,
  { cluster }: ExecuteContext,
): Promise<Compute> {
  const patch = guardedPatch(marked).setAnnotation(annotations.pendingRestart, earlier && JSON.stringify(earlier));
  return patched(cluster, patch, marked);
}

/** Whether a compute does not run: asked now, for it may have woken since the list. Some services show lists alone. */
async function doesRest(
  endpointID: string,
  listed: Endpoint | undefined,
  { spec }: Compute,
  { client, signal }: ExecuteContext,
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
  compute: Compute,
  { cluster, clock }: ExecuteContext,
): Promise<Compute> {
  const mark: PendingRestart = {
    uid: compute.metadata.uid,
    since: timestamp(clock.now()),
    value,
    ...timesOf(operations),
    ...(startedAt === undefined ? {} : { startedAt }),
  };
  const patch = guardedPatch(compute, { resourceVersion: true });
  return patched(cluster, patch.setAnnotation(annotations.pendingRestart, JSON.stringify(mark)), compute);
}

/** What is known of an endpoint's operations before a restart, by the service's own clock. */
function timesOf(
  operations: readonly Operation[] | undefined,
): Pick<PendingRestart, "newestOperation" | "restedSince"> {
  if (operations === undefined) return {};
  const newest = (times: readonly string[]) => times.reduce((latest, time) => (time > latest ? time : latest), "");
  const newestOperation = newest(operations.map(({ created_at }) => created_at ?? ""));
  const ends = operations.flatMap(({ status, updated_at }) =>
    updated_at === undefined || operationOutcome(status) === "in-progress" ? [] : [updated_at],
  );
  return ends.length < operations.length ? { newestOperation } : { newestOperation, restedSince: newest(ends) };
}

/** The CRD itself is being deleted: that takes the operator away, and nothing that it looked after. */
export function keepEndpoint(endpointID: string, compute: Compute, { cluster }: ExecuteContext): Promise<Outcome> {
  const message = released.uninstalling(endpointID);
  return release({ kind: "release", event: "Released", message }, compute, cluster);
}

export async function deleteEndpoint(
  action: Extract<Action, { kind: "delete" }>,
  compute: Compute,
  context: ExecuteContext,
): Promise<Outcome> {
  const { watcher, client, memory, clock, signal } = context;
  const { endpointID, why } = action;
  if (compute.metadata.deletionTimestamp !== undefined && (await context.uninstalling.now(compute)))
    return keepEndpoint(endpointID, compute, context);
  const answer = await client.deleteEndpoint(compute.spec.projectID, endpointID, signal);
  memory.listsCountAfter = watcher.wrote(endpointID);
  if (answer.kind !== "ok" && answer.kind !== "notFound")
    return recordFailedWrite(action, answer, requests.delete(endpointID), compute, context, orRetain);
  delete memory.failedWrite;
  const before = memory.answeredDeletes.get(endpointID);
  memory.answeredDeletes.set(endpointID, {
    at: clock.monotonic(),
    before: before === undefined ? 0 : before.before + 1,
  });
  if (answer.kind === "ok") watcher.operations.follow(answer.value.operations);
  if (why === "surplus") {
    if (answer.kind === "notFound" || before !== undefined) return unchanged(compute, 500);
    return unchanged(compute, 500, [{ type: "Warning", reason: "Deleted", message: deleted.duplicate(endpointID) }]);
  }
  // Who says that there is none may lag: then it is proved gone as any other.
  if (answer.kind === "ok") memory.deleted = { endpointID, proved: false };
  return shown(
    compute,
    "Deleting",
    before === undefined ? deleting.accepted(endpointID) : deleting.stillListed(endpointID),
  );
}
