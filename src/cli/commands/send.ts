import type { Endpoint } from "../../api/endpoint.ts";
import type { Operation } from "../../api/operation.ts";
import { changing, meaningOf } from "../../operator/compute/execute/failures.ts";
import { pendingCreateOf } from "../../operator/compute/observe/pending-operations.ts";
import { generationOf } from "../../operator/compute/observe/plan-input.ts";
import { identityOf, type WriteAction } from "../../operator/compute/plan/action.ts";
import { requests } from "../../operator/compute/status/messages/failures.ts";
import { type Reason, reasons, requeueDelay } from "../../operator/compute/status/reasons.ts";
import { timestamp } from "../../operator/resources/conditions-of.ts";
import { annotations } from "../../operator/resources/names.ts";
import type { Clock } from "../../operator/runtime/clock.ts";
import type { Failure } from "../../operator/service-client/answer.ts";
import type { Written } from "../../operator/service-client/client.ts";
import { annotated, applied, begun, guarded, linked, reported } from "../plan/in-memory-writes.ts";
import type { Tracked } from "../plan/inventory.ts";

/** What a write came to. The Compute is as the operator would have left it. */
export interface Sent {
  compute: Tracked["compute"];
  result:
    | { kind: "done"; said: string }
    | { kind: "later"; said: string }
    | { kind: "failed"; reason: Reason; said: string };
  operations: readonly Operation[];
}

/** Failures that pass by themselves, or that a fresh look explains. */
const passing: ReadonlySet<Reason> = new Set<Reason>([
  "ProjectBusy",
  "RateLimited",
  "ServiceUnavailable",
  "PrimaryExists",
]);

/** How often in a row the same write may fail before it is given up. */
const mostFailures = 8;

/** A write is never called off half-way: it has its own deadline, and what became of it is to be known. */
const uninterrupted = new AbortController().signal;

/** Sends one write once, with the bodies that the operator sends. What is not known afterwards is marked. */
export async function send(write: WriteAction, tracked: Tracked, clock: Clock): Promise<Sent> {
  const { memory } = tracked;
  const sent = await carryOut(write, tracked, clock);
  memory.listsCountAfter = clock.monotonic();
  if (sent.result.kind === "done") delete memory.failedWrite;
  return sent;
}

function carryOut(write: WriteAction, tracked: Tracked, clock: Clock): Promise<Sent> {
  switch (write.kind) {
    case "create":
      return create(write, tracked, clock);
    case "patch":
      return patch(write, tracked, clock);
    case "restart":
      return restart(write, tracked, clock);
    case "delete":
      return remove(write, tracked, clock);
  }
}

async function create(write: Extract<WriteAction, { kind: "create" }>, tracked: Tracked, clock: Clock): Promise<Sent> {
  const { memory, project } = tracked;
  const before = pendingCreateOf(tracked.compute);
  const again = before !== undefined;
  const mark = { uid: tracked.compute.metadata.uid, since: timestamp(clock.now()), ...write.mark };
  const stands = before?.branchID === write.mark.branchID;
  const marked = stands
    ? tracked.compute
    : guarded(annotated(tracked.compute, { [annotations.pendingCreate]: JSON.stringify(mark) }));
  const answer = await project.client.createEndpoint(project.id, { endpoint: write.attributes }, uninterrupted);
  if (answer.kind === "ok" && answer.value.endpoint !== undefined) {
    const { endpoint, operations } = answer.value;
    delete memory.pendingCreate;
    const named = endpoint.name === write.attributes.name;
    const said = named ? `created ${endpoint.id}` : `created ${endpoint.id}${nameless(endpoint)}`;
    const made = applied(begun(linked(marked, endpoint.id, !named), "Creating"));
    // Lists may lag behind: it was seen through this connection, and is not taken for lost at once.
    const compute = reported(made, { observedThrough: write.mark.through });
    return { compute, result: { kind: "done", said }, operations };
  }
  const failure: Failure = answer.kind === "ok" ? { kind: "ambiguous", message: "an answer without endpoint" } : answer;
  if (failure.kind === "ambiguous") {
    memory.pendingCreate = { since: pendingCreateOf(marked)?.since ?? "", seenAt: clock.monotonic() };
    const said = `no usable answer to the create (${failure.message}): looking before anything else is sent`;
    noop(write, "CreateUnknown", said, 0, { ...tracked, compute: marked }, clock);
    return { compute: marked, result: { kind: "later", said }, operations: [] };
  }
  const kept = again ? marked : annotated(marked, {}, annotations.pendingCreate);
  return afterBackoff(write, failure, requests.create(marked.spec.branchID), { ...tracked, compute: kept }, clock);
}

function nameless({ id }: Endpoint): string {
  return `; this service shows no names, so set spec.adopt to {endpointID: ${id}}, or it cannot be known again`;
}

async function patch(write: Extract<WriteAction, { kind: "patch" }>, tracked: Tracked, clock: Clock): Promise<Sent> {
  const { compute, memory, project } = tracked;
  const { endpointID, attributes, fields } = write;
  const body = { endpoint: attributes };
  const answer = await project.client.patchEndpoint(project.id, endpointID, body, uninterrupted);
  if (answer.kind !== "ok") return afterBackoff(write, answer, changing(compute, write), tracked, clock);
  const generation = generationOf(compute);
  const tries = memory.patched?.generation === generation ? memory.patched.tries + 1 : 0;
  memory.patched = { generation, fields, listsWithout: [], at: clock.monotonic(), tries };
  const said = `changed ${fields.join(", ")} of ${endpointID}`;
  return done(applied(begun(compute, write.progress)), said, answer.value);
}

async function restart(
  write: Extract<WriteAction, { kind: "restart" }>,
  tracked: Tracked,
  clock: Clock,
): Promise<Sent> {
  const { compute, project } = tracked;
  const { endpointID, value } = write;
  const known = await project.client.listOperations(project.id, uninterrupted);
  const seen = project.listing?.kind === "listed" ? project.listing.index.byID(endpointID) : undefined;
  const operations =
    known.kind === "ok" ? known.value.filter(({ endpoint_id }) => endpoint_id === endpointID) : undefined;
  const newest = operations?.reduce((latest, { created_at = "" }) => (created_at > latest ? created_at : latest), "");
  const mark = {
    uid: compute.metadata.uid,
    since: timestamp(clock.now()),
    value,
    ...(newest === undefined ? {} : { newestOperation: newest }),
    ...(seen?.started_at === undefined ? {} : { startedAt: seen.started_at }),
  };
  const marked = annotated(compute, { [annotations.pendingRestart]: JSON.stringify(mark) });
  const answer = await project.client.restartEndpoint(project.id, endpointID, uninterrupted);
  const resting = seen?.current_state === "idle" || seen?.disabled === true;
  if (answer.kind === "ok" || (answer.kind === "refused" && resting)) {
    const over = annotated(reported(compute, { restartedAt: value }), {}, annotations.pendingRestart);
    const written = answer.kind === "ok" ? answer.value : { operations: [] };
    return done(begun(over, "Restarting"), `restarted ${endpointID}`, written);
  }
  const kept = answer.kind === "ambiguous" ? marked : compute;
  return afterBackoff(write, answer, requests.restart(endpointID), { ...tracked, compute: kept }, clock);
}

async function remove(write: Extract<WriteAction, { kind: "delete" }>, tracked: Tracked, clock: Clock): Promise<Sent> {
  const { compute, project } = tracked;
  const { endpointID } = write;
  const answer = await project.client.deleteEndpoint(project.id, endpointID, uninterrupted);
  if (answer.kind === "ok") return done(compute, `deleted ${endpointID}`, answer.value);
  return afterBackoff(write, answer, requests.delete(endpointID), tracked, clock);
}

function done(compute: Sent["compute"], said: string, { operations }: Pick<Written, "operations">): Sent {
  return { compute, result: { kind: "done", said }, operations };
}

/** A write that failed: given up, or tried again later. */
function afterBackoff(write: WriteAction, failure: Failure, doing: string, tracked: Tracked, clock: Clock): Sent {
  const { compute } = tracked;
  const { reason, message } = meaningOf(failure, doing);
  const asked = "retryAfterMs" in failure ? (failure.retryAfterMs ?? 0) : 0;
  if (!passing.has(reason) || noop(write, reason, message, asked, tracked, clock) >= mostFailures) {
    return { compute, result: { kind: "failed", reason, said: message }, operations: [] };
  }
  return { compute, result: { kind: "later", said: `${reason}: ${message}` }, operations: [] };
}

/**
 * Remembers a write that failed, so that the very same is not tried again too soon. Answers how often it has failed.
 */
function noop(
  write: WriteAction,
  reason: Reason,
  message: string,
  leastMs: number,
  { compute, memory }: Tracked,
  clock: Clock,
): number {
  const identity = identityOf(write, generationOf(compute));
  const failures = memory.failedWrite?.write === identity ? memory.failedWrite.failures + 1 : 0;
  const wait = Math.min(60_000, Math.max(leastMs, requeueDelay(reasons[reason].look, failures) ?? 1000));
  memory.failedWrite = { write: identity, reason, message, until: clock.monotonic() + wait, failures };
  return failures + 1;
}
