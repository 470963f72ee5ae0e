import type { Refusal } from "../refusal.ts";

/** A request to the service, over HTTP or from a test in the same process. */
export interface ServiceCall {
  method: string;
  /** Without the query, e.g. `/api/v2/projects`; parts are percent-encoded. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>>;
  /** The raw body; absent or empty if there is none. */
  body?: string;
  /** The caller wants only the headers, as with HEAD; `method` is then GET. */
  head?: boolean;
  /** Aborts when the caller has left; absent where that cannot be seen. */
  gone?: AbortSignal;
  /** Resolves in the caller's next turn of the loop; absent where the answer is made in one go. */
  turn?: () => Promise<void>;
  /** The caller's address, empty where it is not known. Default 127.0.0.1. */
  remote?: string;
  /** True if the call came over TLS. */
  encrypted?: boolean;
  /** The version of HTTP in which the caller speaks. Default 1.1. */
  httpVersion?: string;
}

/** The service's answer to a call. */
export interface ServiceReply {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Absent for 204. */
  body?: string;
  /** The body in pieces, where it may be long. */
  pieces?: readonly Buffer[];
  /** The whole answer, where it has to be waited for: it takes the place of this one. Never rejects. */
  later?: Promise<ServiceReply>;
}

/** A JSON answer. */
export function jsonReply(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): ServiceReply {
  return serialisedReply(status, JSON.stringify(body), headers);
}

/** The answer that refuses a call. */
export function refusalReply(refusal: Refusal, request_id = "", more: ServiceReply["headers"] = {}): ServiceReply {
  const { status, code, message, headers } = refusal;
  return jsonReply(status, { request_id, code, message }, { ...headers, ...more });
}

/** The headers of JSON. No cache keeps it: one that overlooks keys would show an account's passwords to others. */
const jsonHeaders = { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" };

/** An answer whose JSON text exists already. */
export function serialisedReply(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): ServiceReply {
  return { status, headers: { ...jsonHeaders, ...headers }, body };
}

const tooMany = "too many connections of your address are open: close some, and try again\n";
/** The whole answer on a connection that is not taken in. */
export const tooManyConnections = [
  "HTTP/1.1 503 Service Unavailable",
  "content-type: text/plain",
  "retry-after: 1",
  "connection: close",
  `content-length: ${tooMany.length}`,
  "",
  tooMany,
].join("\r\n");
