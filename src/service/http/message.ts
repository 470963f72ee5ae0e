/** A request to the service, wherever it comes from: HTTP, or a test in the same process. */
export interface ServiceCall {
  method: string;
  /** Without the query, e.g. `/api/v2/projects`; parts are percent-encoded. */
  path: string;
  query?: Readonly<Record<string, string>>;
  /** Names in lower case. */
  headers?: Readonly<Record<string, string>>;
  /** As it came over the wire; absent or empty where there is none. */
  body?: string;
  /** Only the headers of the answer are wanted, as by HEAD; `method` is then GET. */
  head?: boolean;
  /** The caller's address; by default 127.0.0.1. */
  remote?: string;
}

/** The service's answer to a call. */
export interface ServiceReply {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Absent for 204. */
  body?: string;
}

/** A JSON answer. */
export function jsonReply(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): ServiceReply {
  return serialisedReply(status, JSON.stringify(body), headers);
}

/** An answer whose JSON is ready. */
export function serialisedReply(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): ServiceReply {
  return { status, headers: { "content-type": "application/json; charset=utf-8", ...headers }, body };
}
