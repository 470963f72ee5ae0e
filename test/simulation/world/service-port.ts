import { type Clock, sleep } from "../../../src/operator/runtime/clock.ts";
import {
  NoResponseError,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceTransport,
} from "../../../src/operator/service-client/transport.ts";
import type { CrashPoint, Fault } from "./crash-point.ts";
import type { ServiceFate, Weather } from "./fault-plan.ts";
import type { SimProcess } from "./process.ts";
import type { ServiceWrite } from "./records.ts";
import type { Reply } from "./service-host.ts";
import type { Services } from "./services.ts";

/** Hears of every request of an operator to the service. */
export interface ServiceWitness {
  /** Called as it leaves; answers the record that is filled in as it goes on, for writes. */
  sent(process: string, request: ServiceRequest): ServiceWrite | undefined;
  carriedOut(write: ServiceWrite): void;
  /** A write to a branch is to reach the service then. */
  branchArrives?(at: number): void;
  /** A write to a branch reached the service; `beyondSettle`: after `--create-settle`. */
  branchCarriedOut?(request: ServiceRequest, reply: Reply, beyondSettle: boolean): void;
  /** An answer reached the operator. */
  heard(process: string, request: ServiceRequest, answer: HeardAnswer): void;
}

/** An answer as an operator heard it, and when it had asked. */
export interface HeardAnswer {
  status: number;
  retryAfterMs: number | undefined;
  sentAt: number;
  /** Whether it was the service's own whole answer. */
  own: boolean;
  body: unknown;
}

export interface ServicePortOptions {
  process: SimProcess;
  services: Services;
  /** The world's, which goes on when the process does not. */
  clock: Clock;
  weather: Weather;
  crashPoint: CrashPoint;
  invariants: ServiceWitness;
  crash: () => void;
  createSettleMs: number;
}

/** The way of one operator process to the service, through whatever weather lies between. */
export class SimServiceTransport implements ServiceTransport {
  readonly #options: ServicePortOptions;

  constructor(options: ServicePortOptions) {
    this.#options = options;
  }

  send(request: ServiceRequest, options: { signal: AbortSignal; timeoutMs: number }): Promise<ServiceResponse> {
    const { process } = this.#options;
    if (process.state === "dead") return new Promise(() => {});
    this.#options.services.sentWith(keyOf(request));
    const write = options.signal.aborted ? undefined : this.#options.invariants.sent(process.name, request);
    const { clock, invariants } = this.#options;
    const sentAt = clock.monotonic();
    const ended = () => {
      if (write !== undefined) write.endedAt = clock.monotonic();
    };
    return process.wait(this.#send(request, write, options)).then(
      ({ response, own }) => {
        ended();
        // What the process has really received: it may have died, or been suspended, since the answer came.
        const { status, retryAfterMs, body } = response;
        if (write !== undefined) write.heard = own ? status : undefined;
        invariants.heard(process.name, request, { status, retryAfterMs, sentAt, own, body });
        return response;
      },
      (error: unknown) => {
        ended();
        throw error;
      },
    );
  }

  async #send(
    request: ServiceRequest,
    write: ServiceWrite | undefined,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<Heard> {
    const { process, crashPoint, weather, clock, createSettleMs, invariants } = this.#options;
    if (signal.aborted) throw new NoResponseError("called off");
    const isWrite = request.method !== "GET";
    const verdict = crashPoint({ process: process.name, port: "service", what: `${request.method} ${request.path}` });
    const fate: ServiceFate =
      verdict === "pass" ? weather.service(isWrite, request.path, timeoutMs) : fateOf(verdict, isWrite, createSettleMs);
    if (write !== undefined && fate.kind === "late") write.beyondSettle = fate.arriveMs >= createSettleMs;

    const deadline = clock.monotonic() + timeoutMs;
    const pass = async (ms: number) => {
      const left = deadline - clock.monotonic();
      await sleep(clock, Math.min(ms, left), signal).catch(() => {
        throw new NoResponseError("called off");
      });
      if (ms >= left) throw new NoResponseError("no answer in time");
    };
    const arrival = (ms: number): Promise<Reply> =>
      new Promise((resolve) => {
        if (write !== undefined) write.arrivesAt = clock.monotonic() + ms;
        else if (isWrite) invariants.branchArrives?.(clock.monotonic() + ms);
        clock.after(ms, () => {
          const reply = this.#carryOut(request, write, fate);
          if (verdict === "death") this.#options.crash();
          resolve(reply);
        });
      });
    switch (fate.kind) {
      case "answered": {
        const reply = arrival(fate.arriveMs);
        await pass(fate.arriveMs + fate.replyMs);
        return ownAnswer(await reply, this.#dateOf(request));
      }
      case "refused":
        await pass(fate.afterMs);
        throw new NoResponseError("ECONNREFUSED: connection refused");
      case "lost":
        void arrival(fate.arriveMs);
        await pass(fate.afterMs);
        throw new NoResponseError("ECONNRESET: connection reset");
      case "late":
        void arrival(fate.arriveMs);
        await pass(fate.resetMs ?? timeoutMs);
        throw new NoResponseError("ECONNRESET: connection reset");
      case "status":
        await pass(fate.afterMs);
        return ownAnswer(refusal(fate.status, fate.retryAfterMs), this.#dateOf(request));
      case "broken":
        if (fate.carriedOut) void arrival(1);
        await pass(Math.max(fate.afterMs, 2));
        return { response: fate.as === "html" ? proxyPage : internalError, own: false };
      case "cut": {
        const reply = arrival(fate.arriveMs);
        await pass(fate.arriveMs + fate.replyMs);
        return { response: { status: (await reply).status, json: false, body: undefined }, own: false };
      }
    }
    return fate satisfies never;
  }

  /** The header `Date`. */
  #dateOf({ baseURL }: ServiceRequest): number {
    return Math.floor(this.#options.services.at(baseURL).wall / 1000) * 1000;
  }

  #carryOut(request: ServiceRequest, write: ServiceWrite | undefined, fate: ServiceFate): Reply {
    const { services, invariants, clock } = this.#options;
    const host = services.at(request.baseURL);
    const key = keyOf(request);
    const query = new URLSearchParams(request.query).toString();
    const path = query === "" ? request.path : `${request.path}?${query}`;
    if (fate.kind === "answered" && fate.lagMs > 0) return host.requestLate(path, key, fate.lagMs);
    const isWrite = request.method !== "GET";
    if (isWrite && host.locksAtRandom()) return refusal(423, undefined);
    const reply = host.request(request.method, path, key, request.body);
    if (write !== undefined) {
      write.carriedOut = { at: clock.monotonic(), status: reply.status };
      if (write.kind === "create" && reply.status === 201) {
        write.endpointID = createdID(reply);
        host.made(write.endpointID ?? "", services.nameFor(write));
      }
      invariants.carriedOut(write);
    } else if (isWrite) {
      const beyondSettle = fate.kind === "late" && fate.arriveMs >= this.#options.createSettleMs;
      invariants.branchCarriedOut?.(request, reply, beyondSettle);
    }
    return reply;
  }
}

/** A late write arrives in the last second in which it may, counted from when its connection is reset. */
function fateOf(fault: Fault, isWrite: boolean, createSettleMs: number): ServiceFate {
  switch (fault) {
    case "death":
    case "lost reply":
      return { kind: "lost", arriveMs: 1, afterMs: 50 };
    case "late effect":
      return { kind: "late", arriveMs: createSettleMs - 1000, resetMs: 50 };
    case "refusal":
      return { kind: "status", status: isWrite ? 423 : 503, afterMs: 1, retryAfterMs: undefined };
  }
}

function keyOf(request: ServiceRequest): string {
  return request.key.authorization().replace(/^Bearer /, "");
}

/** What came back, and whether it was the service's own whole answer. */
interface Heard {
  response: ServiceResponse;
  own: boolean;
}

function ownAnswer({ status, text, retryAfterMs }: Reply, dateMs: number): Heard {
  const waits = { dateMs, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  const response =
    text === undefined
      ? { status, json: false, body: undefined, ...waits }
      : { status, json: true, body: JSON.parse(text), ...waits };
  return { response, own: true };
}

const proxyPage: ServiceResponse = { status: 503, json: false, body: undefined };
const internalError: ServiceResponse = { status: 500, json: true, body: { code: "", message: "internal error" } };

function refusal(status: 404 | 423 | 429 | 503, retryAfterMs: number | undefined): Reply {
  const messages = {
    404: "not allowed to perform this action",
    423: "project already has running conflicting operations, scheduling of new ones is prohibited",
    429: "rate limit exceeded",
    503: "service temporarily unavailable",
  };
  return { status, text: JSON.stringify({ request_id: "sim", code: "", message: messages[status] }), retryAfterMs };
}

function createdID(reply: Reply): string | undefined {
  const body: unknown = JSON.parse(reply.text ?? "null");
  if (typeof body !== "object" || body === null || !("endpoint" in body)) return undefined;
  const { endpoint } = body;
  return typeof endpoint === "object" && endpoint !== null && "id" in endpoint ? String(endpoint.id) : undefined;
}
