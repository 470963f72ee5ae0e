import { OperationalError } from "../runtime/operational-error.ts";
import type { ApiKey } from "./api-key.ts";

/** One request to the service. */
export interface ServiceRequest {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Ends in `/api/v2`, without a trailing slash. */
  baseURL: string;
  /** Below the base URL, e.g. `/projects/shiny-wind-028834/endpoints`; parts are already encoded. */
  path: string;
  query?: Readonly<Record<string, string>> | undefined;
  body?: unknown;
  key: ApiKey;
  /** PEM of a private authority to trust for this request. */
  caBundle?: string | undefined;
  /** The largest answer that is read, in bytes; `mostBytes.other` where left out. */
  maxBytes?: number;
}

/** The largest answers that are read, in bytes: ten thousand computes list in some 7 MB, 400 projects in 0.5 MB. */
export const mostBytes = { endpoints: 16 * 1024 * 1024, other: 4 * 1024 * 1024 } as const;

/** Any complete answer of the service, refusals included. */
export interface ServiceResponse {
  status: number;
  /** The parsed body; `undefined` where there was none, or it was not JSON (see `json`). */
  body: unknown;
  /** Whether the body was whole and JSON. */
  json: boolean;
  /** The length of the body, where it came over a network. */
  bytes?: number;
  /** What `Retry-After` asks for, in milliseconds. */
  retryAfterMs?: number | undefined;
}

/**
 * The port through which every request to the service leaves. The real one speaks HTTP, resends GETs within the
 * deadline and never follows a redirect; tests replace it by the service's core in the same process.
 */
export interface ServiceTransport {
  /** Resolves with any complete answer; rejects with `NoResponseError` where none came. Never resends a write. */
  send(request: ServiceRequest, options: SendOptions): Promise<ServiceResponse>;
}

export interface SendOptions {
  signal: AbortSignal;
  timeoutMs: number;
  /** Asked before a GET is sent again, which counts as another request; left out: it may be. */
  mayResend?: () => boolean;
}

/** No complete answer came: what the request did at the service is not known. */
export class NoResponseError extends OperationalError {
  override name = "NoResponseError";
}
