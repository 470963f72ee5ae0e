import { setTimeout as sleep } from "node:timers/promises";
import {
  NoResponseError,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceTransport,
} from "../../../src/operator/service-client/transport.ts";
import type { ServiceReply } from "../../../src/service/http/message.ts";
import type { Service } from "../../../src/service/service.ts";

/** One request of the operator, as it arrived at a service. */
export interface Call {
  method: ServiceRequest["method"];
  /** Below `/api/v2`. */
  path: string;
  body?: unknown;
  /** The Authorization header. */
  authorization: string;
  /** In milliseconds of `performance.now`. */
  at: number;
  /** Of the answer; absent where none came. */
  status?: number;
}

/** A service that can be reached, and what was asked of it. */
export interface Host {
  service: Service;
  calls: Call[];
  /** Answers in place of the service, which then hears nothing; `undefined` lets the request through. */
  instead?: ((call: Call) => ServiceReply | undefined) | undefined;
}

/** The way from the operator to services in this process, by the host of their base URLs, faults included. */
export class Network implements ServiceTransport {
  readonly #hosts = new Map<string, Host>();

  /** Has a service answer under `http://<name>/api/v2`, in place of the one before. */
  connect(name: string, service: Service): Host {
    const host = { service, calls: this.#hosts.get(name)?.calls ?? [] };
    this.#hosts.set(name, host);
    return host;
  }

  async send(request: ServiceRequest, { timeoutMs }: { signal: AbortSignal; timeoutMs: number }) {
    const { method, path, query, body, key } = request;
    const host = this.#hosts.get(new URL(request.baseURL).host);
    if (host === undefined) throw new NoResponseError("ENOTFOUND: there is no such host");
    const authorization = key.authorization();
    const call: Call = { method, path, authorization, at: performance.now(), ...(body !== undefined && { body }) };
    host.calls.push(call);
    const instead = host.instead?.(call);
    if (instead !== undefined) {
      call.status = instead.status;
      return responseOf(instead);
    }
    const exchange = host.service.exchange({
      method,
      path: `/api/v2${path}`,
      headers: { authorization, accept: "application/json" },
      ...(query !== undefined && { query }),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (exchange.delayMs > 0) await sleep(Math.min(exchange.delayMs, timeoutMs));
    if (exchange.delayMs > timeoutMs) throw new NoResponseError("no answer in time");
    if (exchange.kind !== "answer") throw new NoResponseError("ECONNRESET: the connection was cut");
    call.status = exchange.reply.status;
    return responseOf(exchange.reply);
  }
}

function responseOf({ status, headers, body = "" }: ServiceReply): ServiceResponse {
  const wait = Number(headers["retry-after"] ?? "nothing");
  const dateMs = Date.parse(headers["date"] ?? "");
  return {
    status,
    ...parsed(body),
    ...(Number.isFinite(wait) && { retryAfterMs: wait * 1000 }),
    ...(Number.isFinite(dateMs) && { dateMs }),
  };
}

function parsed(text: string): { body: unknown; json: boolean } {
  try {
    return { body: JSON.parse(text), json: true };
  } catch {
    return { body: undefined, json: false };
  }
}
