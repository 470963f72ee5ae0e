import type { Clock } from "../runtime/clock.ts";
import type { Account } from "./account.ts";
import { type Failure, pauseAskedFor } from "./answer.ts";
import { type AdmissionOptions, admission } from "./request-reservation.ts";
import {
  mostBytes,
  NoResponseError,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceTransport,
} from "./transport.ts";

/** Called for every request that was sent, for metrics and logs. `code` is the HTTP status, or `none`. */
export type RequestObserver = (sent: { method: string; route: string; code: string; seconds: number }) => void;

export interface ExchangeOptions extends AdmissionOptions {
  account: Account;
  transport: ServiceTransport;
  clock: Clock;
  observe?: RequestObserver | undefined;
  /** Called with the `Date` of each answer, and how long its request took, in milliseconds. */
  onDate?: ((dateMs: number, tookMs: number) => void) | undefined;
}

/** One request: `ids` replace the braces in `route`, in order. */
export type Call = Pick<ServiceRequest, "method" | "body" | "query"> & { route: string; ids: readonly string[] };

export type WriteMethod = "POST" | "PATCH" | "DELETE";

/** A request that may change something. */
export type WriteCall = Call & { method: WriteMethod };

/** Any complete answer, refusals included, or why there is none. */
export type Sent = { kind: "answered"; response: ServiceResponse } | { kind: "failed"; failure: Failure };

/**
 * Deadlines in milliseconds. A write's is shorter than lease duration less renew deadline (15 s less 10 s), so that no
 * write is in flight when another leader may begin.
 */
export const deadlines = { write: 4500, read: 9000 } as const;

/** Sends one request once, as soon as it is admitted. */
export async function exchange(options: ExchangeOptions, call: Call, signal: AbortSignal): Promise<Sent> {
  const { changeBlockedWorkers } = options;
  changeBlockedWorkers?.(1);
  try {
    return await admittedAndSent(options, call, signal);
  } finally {
    changeBlockedWorkers?.(-1);
  }
}

async function admittedAndSent(options: ExchangeOptions, call: Call, signal: AbortSignal): Promise<Sent> {
  const { account, transport, budget, clock, observe } = options;
  const write = call.method !== "GET";
  const refused = await admission(options, call, signal);
  if (refused !== undefined) return { kind: "failed", failure: refused };
  const { method, route } = call;
  const startedAt = clock.monotonic();
  const seconds = () => (clock.monotonic() - startedAt) / 1000;
  try {
    const response = await transport.send(
      {
        method,
        baseURL: account.baseURL,
        path: pathOf(route, call.ids),
        query: call.query,
        body: call.body,
        key: account.key,
        maxBytes: isList(call.route) && !write ? mostBytes.endpoints : mostBytes.other,
        caBundle: account.caBundle,
      },
      { signal, timeoutMs: write ? deadlines.write : deadlines.read, mayResend: () => budget.takeSpare() },
    );
    observe?.({ method, route, code: String(response.status), seconds: seconds() });
    budget.closeFor(pauseAskedFor(response) ?? 0);
    if (response.dateMs !== undefined) options.onDate?.(response.dateMs, clock.monotonic() - startedAt);
    return { kind: "answered", response };
  } catch (error) {
    if (!(error instanceof NoResponseError)) throw error;
    observe?.({ method, route, code: "none", seconds: seconds() });
    const message = `${method} ${route}: ${error.message}`;
    return { kind: "failed", failure: write ? { kind: "ambiguous", message } : { kind: "unavailable", message } };
  }
}

/** True for an answer that grows with the project. */
function isList(route: string): boolean {
  return route === "/projects/{p}/endpoints" || route === "/projects/{p}/branches";
}

function pathOf(route: string, ids: readonly string[]): string {
  let next = 0;
  return route.replaceAll(/\{\w\}/g, () => encodeURIComponent(ids[next++] ?? ""));
}
