import type { EventInput } from "../../kube/event-record.ts";
import { earlierFailure, failedNow } from "../../life/failed-write.ts";
import { after } from "../../life/outcome.ts";
import { conditionOf, shownReason } from "../../objects/conditions-of.ts";
import { generationOf } from "../../objects/object.ts";
import type { Wait } from "../../project/gate.ts";
import type { ServiceAccess } from "../../project/service-access.ts";
import type { Compute } from "../../resources/compute.ts";
import { soonMs } from "../../runtime/waits.ts";
import type { Failure } from "../../service-client/answer.ts";
import { longPauseMs, pauseMessage } from "../../service-client/request-reservation.ts";
import { type Outcome, shown, unchanged } from "../outcome.ts";
import { identityOf, type WriteAction } from "../plan/action.ts";
import { waiting as messages, noAnswer } from "../words/conditions.ts";
import { meaningOf } from "../words/failures.ts";
import { reasons } from "../words/reasons.ts";
import type { ExecuteContext } from "./context.ts";

const progressOf = {
  create: "Creating",
  patch: "Updating",
  sign: "Updating",
  restart: "Restarting",
  rotate: "Updating",
  delete: "Deleting",
} as const;

const createUnknown = { reason: "CreateUnknown", message: noAnswer } as const;

/**
 * A write that does not pass the gate. What it waits for is reported once: a status that reports this write stays, or
 * Computes that wait for each other would keep writing theirs. Only the brake is reported after another wait, too. A
 * write that has failed keeps the reason that it failed for until it is sent again.
 */
export function waiting(wait: Wait, write: WriteAction, context: ExecuteContext, access: ServiceAccess): Outcome {
  const { compute, clock, state } = context;
  const { reservation } = access;
  const closed = wait === "budget" ? paused(compute, reservation) : undefined;
  if (closed !== undefined) return closed;
  const progress = progressOf[write.kind];
  const isBrief = wait === "budget" && reservation.waitMs <= longPauseMs;
  const reason = shownReason(compute);
  const message = messageOf(wait, write, compute.spec.projectID);
  // A project that is reported busy is so until a write is accepted.
  const isSending = write.kind === "create" && compute.status.pendingWrite !== undefined;
  const isReported = (reason === progress && !isSending) || (wait === "project" && reason === "ProjectBusy");
  const failed = earlierFailure(state.known.failedWrite, identityOf(write, generationOf(compute)), access.client);
  const keepsFailure = reason !== undefined && failed?.reason === reason;
  const isNews = wait === "brake" && conditionOf(compute.status, "Ready")?.message !== message;
  if (isBrief || keepsFailure || (isReported && !isNews)) return unchanged(compute, { requeue: { kind: "enqueued" } });
  if (isDeletedJustNow(compute, clock.now())) return unchanged(compute, { requeue: after(soonMs) });
  const events: EventInput[] = wait === "brake" ? [{ type: "Warning", reason: progress, message }] : [];
  return shown(compute, progress, message, { requeue: { kind: "enqueued" }, events });
}

function isDeletedJustNow({ metadata: { deletionTimestamp } }: Compute, wallNow: number): boolean {
  // Times of the API server have whole seconds, and its clock may be another.
  return deletionTimestamp !== undefined && Math.abs(wallNow - Date.parse(deletionTimestamp)) < soonMs + 1000;
}

/** The service asked for a long pause. */
export function paused(compute: Compute, { closedForMs }: ServiceAccess["reservation"]): Outcome | undefined {
  if (closedForMs <= longPauseMs) return undefined;
  const { reason, message } = meaningOf({ kind: "rateLimited", message: pauseMessage }, "");
  return shown(compute, reason, message, { requeue: { kind: "enqueued" } });
}

function messageOf(wait: Wait, write: WriteAction, projectID: string): string {
  if (wait === "budget") return messages.forBudget;
  if (write.kind === "delete")
    return wait === "brake"
      ? messages.toDelete.brake(write.endpointID)
      : messages.toDelete.project(projectID, write.endpointID);
  return messages.forProject(projectID, write.kind === "sign" || write.kind === "rotate" ? "patch" : write.kind);
}

/**
 * A write that failed: reports why and, if that lasts, what to do; and remembers not to repeat the same write too soon.
 */
export function recordFailedWrite(
  write: WriteAction,
  failure: Failure,
  doing: string,
  compute: Compute,
  { state, clock }: ExecuteContext,
  access: ServiceAccess,
  wayOut?: string,
): Outcome {
  // The write was not sent, and is planned again for the current key and address.
  if (failure.kind === "superseded") return unchanged(compute, { requeue: after(1) });
  // Lists alone show the outcome of a create.
  const isUnknown = write.kind === "create" && failure.kind === "ambiguous";
  const { reason, message: meaning } = isUnknown ? createUnknown : meaningOf(failure, doing);
  // A failure that is retried with backoff needs no way out.
  const message = wayOut === undefined || reasons[reason].requeue === "backoff" ? meaning : `${meaning} ${wayOut}`;
  const { requeue } = reasons[reason];
  const attempt = {
    write: identityOf(write, generationOf(compute)),
    uid: compute.metadata.uid,
    before: state.known.failedWrite,
  };
  const { failed, waitMs, isEnqueued, isNews } = failedNow(attempt, failure, { reason, message, requeue }, access);
  state.failed(failed, waitMs, clock.monotonic());
  const next = { requeue: isEnqueued ? ({ kind: "enqueued" } as const) : after(waitMs) };
  return isNews ? shown(compute, reason, failed.message, next) : unchanged(compute, next);
}
