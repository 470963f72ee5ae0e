import { isNotAllowed, isNotReady } from "../../api/error.ts";
import { printableLine } from "../objects/printable-line.ts";
import type { ServiceResponse } from "./transport.ts";

/**
 * The reason why a call did not return the requested answer. All but `ambiguous` prove that a write was not carried
 * out: 423, 429 and 503 count only with the service's own JSON error body, because a proxy's answer proves nothing.
 */
export type Failure =
  | { kind: "unauthorized"; message: string }
  /** A 401 that no later answer has confirmed yet, so possibly an accident. */
  | { kind: "refusedOnce"; message: string }
  | { kind: "forbidden"; message: string }
  | { kind: "notFound"; message: string }
  | { kind: "busy"; message: string; retryAfterMs?: number }
  | { kind: "rateLimited"; message: string; retryAfterMs?: number }
  | { kind: "unavailable"; message: string; retryAfterMs?: number }
  | { kind: "notReady"; message: string }
  | { kind: "refused"; status: number; code: string; message: string }
  /** Not sent: the key, the address or the object has changed. */
  | { kind: "superseded"; message: string }
  | { kind: "ambiguous"; message: string };

/** The outcome of a call to the service. */
export type Answer<T> = Ok<T> | Failure;

interface Ok<T> {
  kind: "ok";
  status: number;
  value: T;
  /** The length of the answer, if it came over a network. */
  bytes?: number;
}

/** The longest message of the service that is passed on, in characters. */
const longestMessage = 300;

/**
 * Classifies an answer that is not a usable 2xx. `write` says whether the request could have changed something;
 * `hiding` removes what nobody may see from the service's message.
 */
export function failureOf(response: ServiceResponse, write: boolean, hiding = (text: string) => text): Failure {
  const { status } = response;
  const own = ownError(response, hiding);
  if (write) return own === undefined ? ambiguous(response) : (sorted(status, own, response) ?? ambiguous(response));
  if (own !== undefined) {
    const failure = sorted(status, own, response);
    if (failure !== undefined) return failure;
  }
  // A read changes nothing, so the status counts even if a proxy refused it.
  if (status === 401) return { kind: "unauthorized", message: "HTTP 401" };
  if (status === 403) return { kind: "forbidden", message: "HTTP 403" };
  if (status === 429) return { kind: "rateLimited", message: "HTTP 429" };
  return { kind: "unavailable", message: describe(response) };
}

/** The longest pause that the service may ask for, in milliseconds. */
const longestPauseMs = 300_000;

/**
 * The pause in which nothing may be sent with this key, in milliseconds: a 429 or 503 with the service's own error body
 * asks for it. A proxy's `Retry-After` concerns the proxy and pauses nothing.
 */
export function pauseAskedFor(response: ServiceResponse): number | undefined {
  const asks = response.status === 429 || response.status === 503;
  return asks && ownError(response, (text) => text) !== undefined ? retryAfter(response).retryAfterMs : undefined;
}

/** True if the service understood the call and refused it. */
export function isRefused({ kind }: Failure): boolean {
  return kind === "forbidden" || kind === "notFound" || kind === "refused";
}

/** True if the service refused the call, or the key: the same key is not answered otherwise by waiting. */
export function isRefusedForGood(failure: Failure): boolean {
  return isRefused(failure) || failure.kind === "unauthorized";
}

interface OwnError {
  code: string;
  message: string;
}

function sorted(status: number, own: OwnError, response: ServiceResponse): Failure | undefined {
  const { message } = own;
  switch (status) {
    case 401:
      return { kind: "unauthorized", message };
    case 403:
      return { kind: "forbidden", message };
    case 404:
      return isNotAllowed(message) ? { kind: "forbidden", message } : { kind: "notFound", message };
    case 408:
    case 425:
      return undefined;
    case 422:
      return isNotReady(message) ? { kind: "notReady", message } : { kind: "refused", status, ...own };
    case 423:
      return { kind: "busy", message, ...retryAfter(response) };
    case 429:
      return { kind: "rateLimited", message, ...retryAfter(response) };
    case 503:
      return { kind: "unavailable", message, ...retryAfter(response) };
    default:
      return status >= 400 && status < 500 ? { kind: "refused", status, ...own } : undefined;
  }
}

/** The service's own error body has a string `message` and a string `code`; nothing else counts. */
function ownError({ body }: ServiceResponse, hiding: (text: string) => string): OwnError | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { code, message } = body as { code?: unknown; message?: unknown };
  if (typeof code !== "string" || typeof message !== "string") return undefined;
  return { code: clip(printableLine(hiding(code))), message: clip(printableLine(hiding(message))) };
}

function ambiguous(response: ServiceResponse): Failure {
  return { kind: "ambiguous", message: describe(response) };
}

function describe({ status, json }: ServiceResponse): string {
  if (status < 300) return `HTTP ${status} with a body that is not the service's`;
  if (status < 400) return `HTTP ${status}: a redirect, which is never followed`;
  return json ? `HTTP ${status}` : `HTTP ${status} with a body that is not JSON`;
}

function retryAfter({ retryAfterMs }: ServiceResponse): { retryAfterMs?: number } {
  return retryAfterMs === undefined ? {} : { retryAfterMs: Math.min(retryAfterMs, longestPauseMs) };
}

function clip(text: string): string {
  return text.length <= longestMessage ? text : `${text.slice(0, longestMessage)}…`;
}

/** A word with a digit: a time, a counter or a request id, but not the status of an answer. */
const changing = /(?<![^\s"'(),;]|HTTP )[^\s"'(),;]*\d[^\s"'(),;]*/g;

/**
 * The message to report after an earlier one: the earlier one, if they differ only in words with digits. Otherwise each
 * try would change the status of every Compute that shows the message.
 */
export function steadyMessage(before: string | undefined, now: string): string {
  if (before === undefined) return now;
  return before.replaceAll(changing, "#") === now.replaceAll(changing, "#") ? before : now;
}
