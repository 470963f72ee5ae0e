import { errorOf } from "../../../src/operator/kube/errors.ts";
import type {
  ClusterRequest,
  ClusterResponse,
  ClusterTransport,
  WatchLine,
} from "../../../src/operator/kube/transport.ts";
import { type Cancel, type Clock, sleep } from "../../../src/operator/runtime/clock.ts";
import { type ClusterWeather, calm, type RefusedWith } from "./faults.ts";
import { copyJson, isStringMap } from "./objects.ts";
import { Refusal } from "./refusal.ts";
import type { ApiServer } from "./server.ts";
import { WatchStream } from "./watch-stream.ts";

/** What a client sees of the API server. */
export type ApiFront = Pick<ApiServer, "handle" | "watch" | "store">;

/** One client's connection to the API server in memory, through whatever weather lies between. */
export class InMemoryClusterTransport implements ClusterTransport {
  readonly #server: ApiFront;
  readonly #clock: Clock;
  readonly #weather: ClusterWeather;
  readonly #streams = new Set<WatchStream>();

  constructor(server: ApiFront, clock: Clock, weather: ClusterWeather = calm) {
    this.#server = server;
    this.#clock = clock;
    this.#weather = weather;
  }

  async request(
    request: ClusterRequest,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<ClusterResponse> {
    signal.throwIfAborted();
    const sent = onTheWire(request);
    const fate = this.#weather.request(sent, timeoutMs);
    const deadline = this.#clock.monotonic() + timeoutMs;
    const pass = async (ms: number) => {
      const left = deadline - this.#clock.monotonic();
      if (ms > 0) await sleep(this.#clock, Math.min(ms, left), signal);
      if (ms > left) throw new Error(`no answer within ${timeoutMs} ms`);
    };
    switch (fate.kind) {
      case "answered": {
        // What is on its way arrives even if its sender has given up meanwhile.
        const arrival = this.#arrival(sent, fate.arriveMs, fate.lagRevisions ?? 0);
        await pass(fate.arriveMs);
        const response = await arrival;
        await pass(fate.replyMs);
        return response;
      }
      case "refused":
        await pass(fate.afterMs);
        throw new Error("connection refused");
      case "lost":
        // It takes effect also where that is later than the loss.
        void this.#arrival(sent, fate.arriveMs, 0);
        await pass(fate.afterMs);
        throw new Error("connection reset before the answer came");
      case "status":
        await pass(fate.afterMs);
        break;
    }
    return refusal(fate.status, fate.retryAfterMs, fate.message);
  }

  watch(
    { path, query }: { path: string; query: Readonly<Record<string, string>> },
    { signal, idleTimeoutMs }: { signal: AbortSignal; idleTimeoutMs: number },
  ): AsyncIterable<WatchLine> {
    return { [Symbol.asyncIterator]: () => this.#open(path, query, signal, idleTimeoutMs) };
  }

  /** Breaks every open watch, as a restart of the API server does. */
  cutWatches(): void {
    for (const stream of this.#streams) stream.fail(new Error("connection reset"));
  }

  #arrival(request: ClusterRequest, afterMs: number, lagRevisions: number): Promise<ClusterResponse> {
    const carryOut = () => {
      const lagging = lagRevisions > 0 && request.method === "GET" && request.query?.["resourceVersion"] === "0";
      const { revision, compacted } = this.#server.store;
      return this.#server.handle(request, lagging ? Math.max(compacted, revision - lagRevisions) : undefined);
    };
    if (afterMs <= 0) return Promise.resolve(carryOut());
    return new Promise((resolve) => this.#clock.after(afterMs, () => resolve(carryOut())));
  }

  #open(
    path: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
    idleTimeoutMs: number,
  ): WatchStream {
    const onAbort = () => stream.fail(signal.reason);
    let ended = false;
    const stream = new WatchStream({
      clock: this.#clock,
      idleTimeoutMs,
      onEnd: () => {
        ended = true;
        close?.();
        this.#streams.delete(stream);
        signal.removeEventListener("abort", onAbort);
      },
    });
    let close: Cancel | undefined;
    this.#streams.add(stream);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) {
      stream.fail(signal.reason);
      return stream;
    }
    const doing = `GET ${path}?watch=true`;
    const opening = this.#weather.watchOpens(path);
    if (opening.kind === "refused") stream.fail(new Error("connection refused"));
    else if (opening.kind === "status") stream.fail(errorOf(refusal(opening.status, opening.retryAfterMs), doing));
    else {
      const opened = this.#server.watch(path, query, {
        line: (line) => {
          const fate = this.#weather.line(path);
          if (fate.kind === "cut") stream.fail(new Error("connection reset"));
          else stream.send(line, fate.delayMs, this.#weather.merges());
        },
        end: () => stream.close(),
      });
      if (typeof opened === "function") {
        close = opened;
        // Cut off while it received what it had missed.
        if (ended) close();
      } else stream.fail(errorOf(opened, doing));
    }
    return stream;
  }
}

/** What arrives of a request: a copy, since the sender may go on changing its own. */
function onTheWire(request: ClusterRequest): ClusterRequest {
  if (request.query && !isStringMap(request.query)) throw new Error("a query holds strings only");
  return request.body === undefined ? request : { ...request, body: copyJson(request.body) };
}

function refusal(status: RefusedWith, retryAfterMs: number | undefined, message?: string): ClusterResponse {
  const refusals = {
    403: new Refusal(403, "Forbidden", 'admission webhook "policy.example.com" denied the request: hands off'),
    409: new Refusal(
      409,
      "Conflict",
      "the object has been modified; please apply your changes to the latest version and try again",
    ),
    429: new Refusal(
      429,
      "TooManyRequests",
      "the server has received too many requests and has asked us to try again later",
    ),
    500: new Refusal(
      500,
      "InternalError",
      message ?? "an error on the server has prevented the request from succeeding",
    ),
    503: new Refusal(503, "ServiceUnavailable", "the server is currently unable to handle the request"),
  };
  return { ...refusals[status].toResponse(), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}
