import pRetry, { AbortError } from "p-retry";
import type { Dispatcher } from "undici";
import { BodyTooLarge, connectionsTo, retryAfterMs, send } from "../runtime/http.ts";
import { proxyFor, viaProxy } from "../runtime/proxy.ts";
import { Bodies, type BodyBounds } from "./bodies.ts";
import {
  mostBytes,
  NoResponseError,
  reasonOf,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceTransport,
} from "./transport.ts";

/** The process's share in the network adapter. */
export interface HttpTransportOptions {
  /** Sent as User-Agent. */
  userAgent: string;
  /** The environment, whose usual variables name proxies. */
  env?: Readonly<Record<string, string | undefined>>;
  bodies?: BodyBounds;
  /**
   * Agents kept, two per key, CA bundle and proxy; beyond this number the least recently used is closed. Default 512.
   */
  mostAgents?: number;
  /** Milliseconds since the epoch, for a Retry-After that is a date. */
  now: () => number;
}

const maxHeaderSize = 32 * 1024;

/** Number of times that a GET without a usable answer is sent again within its deadline, and the first pause. */
const readRetry = { retries: 2, minTimeout: 100, factor: 3, randomize: true };

/** Two of the largest lists at a time; the service's own answers nest five deep. */
const bodyBounds: BodyBounds = { together: 2 * mostBytes.endpoints, deepest: 64 };

/** HTTP to the service: pooled connections, verified TLS, no redirects, bounded bodies. Only a GET is sent again. */
export function httpServiceTransport(options: HttpTransportOptions): ServiceTransport & { close(): Promise<void> } {
  const agents = new Agents(options.env ?? {}, options.mostAgents ?? 512);
  const bodies = new Bodies(options.bodies ?? bodyBounds);

  async function once(request: ServiceRequest, signal: AbortSignal): Promise<ServiceResponse> {
    const { origin, path } = addressOf(request);
    const headers: Record<string, string> = {
      accept: "application/json",
      authorization: request.key.authorization(),
      "user-agent": options.userAgent,
    };
    if (request.body !== undefined) headers["content-type"] = "application/json";
    try {
      const answer = await send(agents.for(request), {
        origin,
        path,
        method: request.method,
        headers,
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal,
      });
      const text = await bodies.text(answer.body, request.maxBytes ?? mostBytes.other);
      const waitMs = retryAfterMs(answer.headers["retry-after"], options.now());
      const dateMs = timeIn(answer.headers.date);
      return parsedLater(answer.statusCode, text, { waitMs, dateMs }, bodies);
    } catch (error) {
      const reason = reasonOf(error, request.caBundle);
      // A proxy that cannot be used has been named; to ask for it would throw again.
      const isNamed = /^the proxy /i.test(reason);
      throw new NoResponseError(
        isNamed ? reason : `${reason}${viaProxy(proxyFor(request.baseURL, undefined, options.env ?? {}))}`,
        error instanceof BodyTooLarge ? { cause: error } : {},
      );
    }
  }

  return {
    async send(request, { signal, timeoutMs, mayResend = () => true }) {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      if (request.method !== "GET") return once(request, deadline);
      let last: ServiceResponse | undefined;
      try {
        return await pRetry(
          async () => {
            last = undefined;
            const response = await once(request, deadline).catch(nonRetryable);
            if (![502, 503, 504].includes(response.status) || response.retryAfterMs !== undefined) return response;
            last = response;
            throw new Error(`HTTP ${response.status}`);
          },
          { ...readRetry, signal: deadline, shouldRetry: mayResend },
        );
      } catch (error) {
        if (last !== undefined) return last;
        throw new NoResponseError(reasonOf(error));
      }
    },
    close: () => agents.close(),
  };
}

/** An answer that is too large is not requested again: it would be as large. */
function nonRetryable(error: unknown): never {
  throw error instanceof NoResponseError && error.cause instanceof BodyTooLarge ? new AbortError(error) : error;
}

/** Connections per key, CA bundle and proxy: no request waits for another key's. Reads and writes have their own. */
class Agents {
  readonly #agents = new Map<string, Dispatcher>();
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #most: number;

  constructor(env: Readonly<Record<string, string | undefined>>, most: number) {
    this.#env = env;
    this.#most = most;
  }

  for({ method, baseURL, caBundle, key }: ServiceRequest): Dispatcher {
    const proxy = proxyFor(baseURL, undefined, this.#env);
    // A write that waited for a connection behind lists until its deadline would count as sent.
    const name = JSON.stringify([key.fingerprint(), caBundle, proxy, method !== "GET"]);
    const agent = this.#agents.get(name) ?? connectionsTo({ ca: caBundle }, proxy, { connections: 16, maxHeaderSize });
    this.#agents.delete(name);
    this.#agents.set(name, agent);
    const [oldest] = this.#agents.keys();
    if (this.#agents.size > this.#most && oldest !== undefined) {
      void this.#agents.get(oldest)?.close();
      this.#agents.delete(oldest);
    }
    return agent;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.close()));
  }
}

/** The form of a `Date` that is sent today: `Date.parse` alone takes a bare number for a year. */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The time in a `Date` header; `undefined`: there is none, several, or another text. */
function timeIn(header: string | string[] | undefined): number | undefined {
  const given = String(header);
  const time = httpDate.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}

/** An answer that is parsed only when its body is read, and then once. */
function parsedLater(
  status: number,
  text: string,
  { waitMs, dateMs }: { waitMs: number | undefined; dateMs: number | undefined },
  bodies: Bodies,
): ServiceResponse {
  let known: ReturnType<Bodies["parsed"]> | undefined;
  const parsed = () => {
    known ??= bodies.parsed(text);
    return known;
  };
  return {
    status,
    text,
    bytes: text.length,
    get body() {
      return parsed().body;
    },
    get json() {
      return parsed().json;
    },
    retryAfterMs: waitMs,
    ...(dateMs === undefined ? {} : { dateMs }),
  };
}

function addressOf({ baseURL, path, query = {} }: ServiceRequest): { origin: string; path: string } {
  const url = new URL(baseURL + path);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return { origin: url.origin, path: url.pathname + url.search };
}
