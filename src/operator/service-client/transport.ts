import { OperationalError } from "../runtime/operational-error.ts";
import type { ApiKey } from "./account.ts";

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
  /** The largest answer that is read, in bytes. Default `mostBytes.other`. */
  maxBytes?: number;
}

/** The largest answers that are read, in bytes: ten thousand computes take some 7 MB, 400 projects 0.5 MB. */
export const mostBytes = { endpoints: 16 * 1024 * 1024, other: 4 * 1024 * 1024 } as const;

/** Any complete answer of the service, refusals included. */
export interface ServiceResponse {
  status: number;
  /** The body as it came, if it came over a network: it is parsed only when `body` or `json` is read. */
  text?: string;
  /** The parsed body; `undefined` if there was none or it was not JSON (see `json`). */
  body: unknown;
  /** True if the body was complete and JSON. */
  json: boolean;
  /** The length of the body, if it came over a network. */
  bytes?: number;
  /** The wait that `Retry-After` asks for, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** The header `Date`, in milliseconds since the epoch: when the service answered, by its clock, in whole seconds. */
  dateMs?: number | undefined;
}

/**
 * The port of every request to the service. The real one speaks HTTP, sends a GET again within its deadline and never
 * follows a redirect; tests use the service's core in the same process.
 */
export interface ServiceTransport {
  /** Resolves with any complete answer; rejects with `NoResponseError` if none came. Never sends a write again. */
  send(request: ServiceRequest, options: SendOptions): Promise<ServiceResponse>;
}

export interface SendOptions {
  signal: AbortSignal;
  timeoutMs: number;
  /** Called before a GET is sent again, which counts as another request. Default: it may be. */
  mayResend?: () => boolean;
}

/** No complete answer came, so the outcome of the request at the service is unknown. */
export class NoResponseError extends OperationalError {
  override name = "NoResponseError";
}

/** OpenSSL's codes for a certificate that no trusted authority has signed. */
const untrusted = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "CERT_SIGNATURE_FAILURE",
]);

/** The reason of a network error in a few words; nothing of the request, whose headers hold the key. */
export function reasonOf(error: unknown, caBundle?: string): string {
  if (!(error instanceof Error)) return "no answer";
  if (error.name === "TimeoutError") return "no answer in time";
  const proxy = /^Proxy response \((\d+)\)/.exec(error.message);
  if (proxy !== null) return `the proxy answered HTTP ${proxy[1]}`;
  if (error.name === "AbortError") return "aborted";
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  if (code !== undefined && untrusted.has(code)) {
    return caBundle === undefined
      ? `${code}: the service's certificate is signed by an authority that is not trusted: put that authority's certificate into spec.caBundle of the ServiceConnection`
      : `${code}: the service's certificate is signed by another authority than spec.caBundle of the ServiceConnection holds`;
  }
  if (error instanceof AggregateError) return code ?? "cannot connect";
  return code === undefined || error.message.includes(code) ? error.message : `${code}: ${error.message}`;
}
