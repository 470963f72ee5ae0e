import type { ResourceKind } from "../objects/object.ts";
import { asRecord } from "../objects/record.ts";
import { BodyTooLarge } from "../runtime/http.ts";
import { OperationalError } from "../runtime/operational-error.ts";
import type { ClusterResponse } from "./transport.ts";

export interface ClusterErrorInit {
  status: number;
  /** The reason in the Status object, e.g. `NotFound`, `Conflict`, `Expired`; empty if the answer had none. */
  reason: string;
  message: string;
  retryAfterMs?: number | undefined;
  /** The reasons in the details of the Status, e.g. `NamespaceTerminating`. */
  causes?: readonly string[];
  /** The object that the Status names; empty if it names none. */
  subject?: string | undefined;
  about?: Target | undefined;
}

/** The object that a request names. */
export interface Target {
  kind: string;
  namespace?: string | undefined;
  name: string;
}

/** The API server refused the request. */
export class ClusterError extends OperationalError {
  override name = "ClusterError";
  readonly status: number;
  readonly reason: string;
  /** The wait that `Retry-After` asks for, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly details: { causes: readonly string[]; subject: string };
  /** The object that the request named; a list names none. */
  readonly about: Target | undefined;

  constructor(init: ClusterErrorInit) {
    super(init.message);
    this.status = init.status;
    this.reason = init.reason;
    this.retryAfterMs = init.retryAfterMs;
    this.details = { causes: init.causes ?? [], subject: init.subject ?? "" };
    this.about = init.about;
  }
}

/** No complete answer came, so the outcome of a write is unknown. The cause says why. */
export class ClusterUnreachable extends OperationalError {
  override name = "ClusterUnreachable";
}

/** The error of an answer that is not a success. `doing` names the request, e.g. `GET /api/v1/secrets`. */
export function errorOf(response: ClusterResponse, doing: string, about?: Target): ClusterError {
  const status = asRecord(response.body);
  const details = asRecord(status.details);
  const seconds = details.retryAfterSeconds;
  const message = text(status.message);
  return new ClusterError({
    status: response.status,
    reason: text(status.reason),
    message: `${doing}: ${response.status} ${message === "" ? "without a Status in the answer" : message}`,
    retryAfterMs: response.retryAfterMs ?? (typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined),
    causes: Array.isArray(details.causes) ? details.causes.map((cause) => text(asRecord(cause).reason)) : [],
    subject: text(details.name),
    about,
  });
}

/** The error of a watch's ERROR line, whose status code is inside the object. */
export function errorOfStatus(status: unknown, doing: string): ClusterError {
  const code = asRecord(status).code;
  return errorOf({ status: typeof code === "number" ? code : 500, body: status }, doing);
}

export function isNotFound(error: unknown): boolean {
  return hasStatus(error, 404);
}

export function isForbidden(error: unknown): boolean {
  return hasStatus(error, 403);
}

/** Another client wrote first: read again and start over. A name that is taken is not a conflict. */
export function isConflict(error: unknown): boolean {
  return hasStatus(error, 409) && !isAlreadyExists(error);
}

export function isAlreadyExists(error: unknown): boolean {
  return error instanceof ClusterError && error.status === 409 && error.reason === "AlreadyExists";
}

/** The namespace is being deleted and takes nothing new. */
export function isNamespaceTerminating(error: unknown): boolean {
  return error instanceof ClusterError && error.details.causes.includes("NamespaceTerminating");
}

/** The resourceVersion or continue token is too old: list again. */
export function isGone(error: unknown): boolean {
  return hasStatus(error, 410) || (error instanceof ClusterError && error.reason === "Expired");
}

/**
 * The requested version is newer than the server's: it lags behind another replica, or etcd was restored from a backup.
 */
export function isTooLargeVersion(error: unknown): boolean {
  if (!(error instanceof ClusterError) || error.status !== 504) return false;
  const { causes } = error.details;
  return causes.includes("ResourceVersionTooLarge") || error.message.includes(tooLargeVersion);
}

const tooLargeVersion = "Too large resource version";

/**
 * A `test` of a JSON Patch failed or one of its paths does not exist, so the object has changed: start over.
 * kube-apiserver answers 422 Invalid, as for a failed validation, but names neither object nor field.
 */
export function isTestFailed(error: unknown): boolean {
  return hasStatus(error, 422) && error instanceof ClusterError && error.details.subject === "";
}

/** Our copy of some object is outdated: `isConflict` or `isTestFailed`; `isAbout` says which. */
export function isStale(error: unknown): boolean {
  return isConflict(error) || isTestFailed(error);
}

/** True if the request was one for this object: a conflict on another, such as its Secret, says nothing about it. */
export function isAbout(
  error: unknown,
  { kind }: Pick<ResourceKind, "kind">,
  { namespace, name }: Omit<Target, "kind">,
): boolean {
  if (!(error instanceof ClusterError)) return false;
  const { about } = error;
  return about?.kind === kind && about.namespace === namespace && about.name === name;
}

/**
 * The API server refuses until somebody changes something: a missing right, a quota, an admission policy, an invalid
 * value, or an admission webhook that cannot be called.
 */
export function isRefusal(error: unknown): error is ClusterError {
  if (!(error instanceof ClusterError)) return false;
  if (error.status === 500) return error.message.includes(webhookNotCalled);
  return (error.status === 403 || error.status === 422) && !isStale(error);
}

/** kube-apiserver's message while it cannot reach a required admission webhook. */
const webhookNotCalled = "failed calling webhook";

/** Requesting fewer objects at a time may help. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof ClusterUnreachable && error.cause instanceof BodyTooLarge;
}

/** Another try may succeed without any change. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ClusterUnreachable) return true;
  return error instanceof ClusterError && (error.status === 429 || error.status >= 500);
}

function hasStatus(error: unknown, status: number): boolean {
  return error instanceof ClusterError && error.status === status;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
