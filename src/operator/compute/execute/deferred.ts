import { requeueDelay } from "../../conditions/rows.ts";
import type { ServiceAccess } from "../../connection/access.ts";
import type { Wait } from "../../connection/gate.ts";
import { isRefusal } from "../../kube/errors.ts";
import type { EventInput } from "../../kube/event-record.ts";
import { conditionOf } from "../../objects/conditions-of.ts";
import type { Compute } from "../../resources/compute.ts";
import { type Failure, steadyMessage } from "../../service-client/answer.ts";
import { pauseMessage } from "../../service-client/request-reservation.ts";
import { generationOf, shownReason } from "../observe/observation.ts";
import { after, type Outcome, shown, unchanged } from "../outcome.ts";
import { identityOf, type WriteAction } from "../plan/action.ts";
import type { FailedWrite } from "../remembered.ts";
import { waiting as messages, noAnswer } from "../words/conditions.ts";
import { meaningOf, patchRefused } from "../words/failures.ts";
import { reasons } from "../words/reasons.ts";
import type { ExecuteContext } from "./context.ts";

const progressOf = {
  create: "Creating",
  patch: "Updating",
  sign: "Updating",
  restart: "Restarting",
  delete: "Deleting",
} as const;

const createUnknown = { reason: "CreateUnknown", message: noAnswer } as const;

/** A deletion that waits for no longer than about this says nothing, in milliseconds: most go at once, or soon. */
const briefWaitMs = 2000;

/** A longer wait for the budget or for the end of a pause, in milliseconds, is reported. */
const longWaitMs = 5000;

/**
 * A write that does not pass the gate. What it waits for is reported once: a status that reports this write stays, or
 * Computes that wait for each other would keep writing theirs. Only the brake is reported after another wait, too. A
 * write that has failed keeps the reason that it failed for until it is sent again.
 */
export function waiting(wait: Wait, write: WriteAction, context: ExecuteContext, access: ServiceAccess): Outcome {
  const { compute, clock } = context;
  const { reservation } = access;
  const closed = wait === "budget" ? paused(compute, reservation) : undefined;
  if (closed !== undefined) return closed;
  const progress = progressOf[write.kind];
  const isBrief = wait === "budget" && reservation.waitMs <= longWaitMs;
  const reason = shownReason(compute);
  const message = messageOf(wait, write, compute.spec.projectID);
  // A project that is reported busy is so until a write is accepted.
  const isSending = write.kind === "create" && compute.status.pendingWrite !== undefined;
  const isReported = (reason === progress && !isSending) || (wait === "project" && reason === "ProjectBusy");
  const keepsFailure = reason !== undefined && earlierFailure(write, context, access)?.reason === reason;
  const isNews = wait === "brake" && conditionOf(compute.status, "Ready")?.message !== message;
  if (isBrief || keepsFailure || (isReported && !isNews)) return unchanged(compute, { requeue: { kind: "enqueued" } });
  if (isDeletedJustNow(compute, clock.now())) return unchanged(compute, { requeue: after(briefWaitMs) });
  const events: EventInput[] = wait === "brake" ? [{ type: "Warning", reason: progress, message }] : [];
  return shown(compute, progress, message, { requeue: { kind: "enqueued" }, events });
}

/** The earlier failure of this very write, through the same address and key. */
function earlierFailure(
  write: WriteAction,
  { compute, state }: Pick<ExecuteContext, "compute" | "state">,
  { client }: Pick<ServiceAccess, "client">,
): FailedWrite | undefined {
  const { failedWrite } = state.known;
  const isSame = failedWrite?.write === identityOf(write, generationOf(compute));
  return isSame && failedWrite.through === client.through ? failedWrite : undefined;
}

function isDeletedJustNow({ metadata: { deletionTimestamp } }: Compute, wallNow: number): boolean {
  // Times of the API server have whole seconds, and its clock may be another.
  return deletionTimestamp !== undefined && Math.abs(wallNow - Date.parse(deletionTimestamp)) < briefWaitMs + 1000;
}

/** The service asked for a long pause. */
export function paused(compute: Compute, { closedForMs }: ServiceAccess["reservation"]): Outcome | undefined {
  if (closedForMs <= longWaitMs) return undefined;
  const { reason, message } = meaningOf({ kind: "rateLimited", message: pauseMessage }, "");
  return shown(compute, reason, message, { requeue: { kind: "enqueued" } });
}

function messageOf(wait: Wait, write: WriteAction, projectID: string): string {
  if (wait === "budget") return messages.forBudget;
  if (write.kind === "delete")
    return wait === "brake"
      ? messages.toDelete.brake(write.endpointID)
      : messages.toDelete.project(projectID, write.endpointID);
  return messages.forProject(projectID, write.kind === "sign" ? "patch" : write.kind);
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
  { client, gate }: ServiceAccess,
  wayOut?: string,
): Outcome {
  // The write was not sent, and is planned again for the current key and address.
  if (failure.kind === "superseded") return unchanged(compute, { requeue: after(1) });
  // Lists alone show the outcome of a create.
  const isUnknown = write.kind === "create" && failure.kind === "ambiguous";
  const { reason, message: meaning } = isUnknown ? createUnknown : meaningOf(failure, doing);
  // A failure that is retried with backoff needs no way out.
  const said = wayOut === undefined || reasons[reason].requeue === "backoff" ? meaning : `${meaning} ${wayOut}`;
  const identity = identityOf(write, generationOf(compute));
  const { through } = client;
  const earlier = earlierFailure(write, { compute, state }, { client });
  const message = steadyMessage(earlier?.message, said);
  const failures = earlier === undefined ? 0 : earlier.failures + 1;
  if (failure.kind === "busy" && failure.retryAfterMs === undefined && gate.enqueuesRefused) {
    state.failed({ write: identity, through, reason, message, failures }, 0, clock.monotonic());
    // Operations often end at once: a project is reported busy if it refuses the same write again.
    const requeue = { kind: "enqueued" } as const;
    return earlier === undefined ? unchanged(compute, { requeue }) : shown(compute, reason, message, { requeue });
  }
  const asked = "retryAfterMs" in failure ? (failure.retryAfterMs ?? 0) : 0;
  const { requeue } = reasons[reason];
  const backoff = requeueDelay(requeue, failures) ?? 1000;
  const isSpread = requeue === "backoff" && failures >= spreadFrom;
  const wait = Math.max(asked, isSpread ? jittered(backoff, compute.metadata.uid, failures) : backoff);
  state.failed({ write: identity, through, reason, message, failures }, wait, clock.monotonic());
  return shown(compute, reason, message, { requeue: after(wait) });
}

/** The share of a back-off that is left out at most, and the number of failures from which on it is. */
const jitter = 0.3;
const spreadFrom = 3;

/** Writes that failed together are sent again apart: uids are random, and each failure draws again. */
function jittered(ms: number, uid: string, failures: number): number {
  let drawn = failures;
  for (const character of uid) drawn = (drawn * 31 + character.charCodeAt(0)) % 1009;
  return Math.round(ms * (1 - (jitter * drawn) / 1009));
}

/** A patch that the API server refused is sent again after this long, in milliseconds: no event says when it may. */
const patchAgainMs = 10_000;

/**
 * The outcome if the API server refuses a patch of the Compute, as when its annotations are too large or a policy of
 * the cluster forbids it. Any other error is thrown again: the reconcile is retried.
 */
export function refusedPatch(error: unknown, compute: Compute): Outcome {
  if (!isRefusal(error)) throw error;
  const reason = error.status === 403 ? "Forbidden" : "Rejected";
  return shown(compute, reason, patchRefused(error.message), { requeue: after(patchAgainMs) });
}
