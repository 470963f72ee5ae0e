import { asRecord } from "../resources/record.ts";
import { BodyTooLarge } from "../runtime/http.ts";
import { OperationalError } from "../runtime/operational-error.ts";
import type { ClusterResponse } from "./transport.ts";

/** One field that validation found fault with. */
export interface StatusCause {
  reason: string;
  message: string;
  field: string;
}

export interface ClusterErrorInit {
  status: number;
  /** Of the Status object, e.g. `NotFound`, `Conflict`, `Expired`; empty where the answer held none. */
  reason: string;
  message: string;
  retryAfterMs?: number | undefined;
  causes?: readonly StatusCause[] | undefined;
  /** The object that the Status names; empty where it names none. */
  subject?: string | undefined;
}

/** The API server answered, and the answer was no. */
export class ClusterError extends OperationalError {
  override name = "ClusterError";
  readonly status: number;
  readonly reason: string;
  /** What `Retry-After` asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly details: { causes: readonly StatusCause[]; subject: string };

  constructor(init: ClusterErrorInit) {
    super(init.message);
    this.status = init.status;
    this.reason = init.reason;
    this.retryAfterMs = init.retryAfterMs;
    this.details = { causes: init.causes ?? [], subject: init.subject ?? "" };
  }
}

/** No whole answer came: what a write did is not known. The cause says why. */
export class ClusterUnreachable extends OperationalError {
  override name = "ClusterUnreachable";
}

/** What an answer that is not a success says, `doing` naming the request, e.g. `GET /api/v1/secrets`. */
export function errorOf(response: ClusterResponse, doing: string): ClusterError {
  const status = asRecord(response.body);
  const details = asRecord(status.details);
  const seconds = details.retryAfterSeconds;
  const message = text(status.message);
  return new ClusterError({
    status: response.status,
    reason: text(status.reason),
    message: `${doing}: ${response.status} ${message === "" ? "without a Status in the answer" : message}`,
    retryAfterMs: response.retryAfterMs ?? (typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined),
    causes: causesOf(details.causes),
    subject: text(details.name),
  });
}

/** The same for the object of a watch's ERROR line, whose status is inside. */
export function errorOfStatus(status: unknown, doing: string): ClusterError {
  const code = asRecord(status).code;
  return errorOf({ status: typeof code === "number" ? code : 500, body: status }, doing);
}

export function isNotFound(error: unknown): boolean {
  return hasStatus(error, 404);
}

/** Somebody else wrote first: read again and start over. A name that is taken is not a conflict. */
export function isConflict(error: unknown): boolean {
  return hasStatus(error, 409) && !isAlreadyExists(error);
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof ClusterError && error.status === 409 && error.reason === "AlreadyExists";
}

/** Nothing new is taken into a namespace that is being deleted. */
export function isNamespaceTerminating(error: unknown): boolean {
  return error instanceof ClusterError && error.details.causes.some(({ reason }) => reason === "NamespaceTerminating");
}

/** The resourceVersion or continue token is too old: list again. */
export function isGone(error: unknown): boolean {
  return hasStatus(error, 410) || (error instanceof ClusterError && error.reason === "Expired");
}

/**
 * The version to go on from is one that the API server has not come to: it lags behind another replica, or etcd was
 * restored from a backup.
 */
export function isTooLargeVersion(error: unknown): boolean {
  if (!(error instanceof ClusterError) || error.status !== 504) return false;
  const { causes } = error.details;
  return causes.some(({ reason }) => reason === "ResourceVersionTooLarge") || error.message.includes(tooLargeVersion);
}

const tooLargeVersion = "Too large resource version";

/**
 * A `test` of a JSON Patch did not hold, or a path of it does not exist: the object is not the one seen. Start over.
 * kube-apiserver answers 422 Invalid for it as for a failed validation, but then names neither object nor field.
 */
export function isTestFailed(error: unknown): boolean {
  return hasStatus(error, 422) && error instanceof ClusterError && error.details.subject === "";
}

/** Our view is old: `isConflict` or `isTestFailed`. */
export function isStale(error: unknown): boolean {
  return isConflict(error) || isTestFailed(error);
}

/**
 * The API server will not do this: a right that is missing, a quota, an admission policy, a value that is not valid, an
 * admission webhook that cannot be called. Another try fares no better until somebody changes something.
 */
export function isRefusal(error: unknown): error is ClusterError {
  if (!(error instanceof ClusterError)) return false;
  if (error.status === 500) return error.message.includes(webhookNotCalled);
  return (error.status === 403 || error.status === 422) && !isStale(error);
}

/** What kube-apiserver answers while it cannot reach an admission webhook that must not be passed over. */
const webhookNotCalled = "failed calling webhook";

/** Asking for less at a time may help. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof ClusterUnreachable && error.cause instanceof BodyTooLarge;
}

/** Another try may fare better, without anybody changing anything. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ClusterUnreachable) return true;
  return error instanceof ClusterError && (error.status === 429 || error.status >= 500);
}

function hasStatus(error: unknown, status: number): boolean {
  return error instanceof ClusterError && error.status === status;
}

function causesOf(causes: unknown): StatusCause[] {
  if (!Array.isArray(causes)) return [];
  return causes.map((cause) => {
    const { reason, message, field } = asRecord(cause);
    return { reason: text(reason), message: text(message), field: text(field) };
  });
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
