import pRetry, { AbortError } from "p-retry";
import { Agent, type Dispatcher, ProxyAgent, request as send } from "undici";
import { proxyFor } from "../runtime/proxy.ts";
import { Bodies, type BodyBounds, TooLarge } from "./bodies.ts";
import { reasonOf } from "./network-reason.ts";
import {
  mostBytes,
  NoResponseError,
  type ServiceRequest,
  type ServiceResponse,
  type ServiceTransport,
} from "./transport.ts";

/** What the network adapter needs to know of the process around it. */
export interface HttpTransportOptions {
  /** Sent as User-Agent. */
  userAgent: string;
  /** Where the usual variables name the proxies to go through. */
  env?: Readonly<Record<string, string | undefined>>;
  bodies?: BodyBounds;
  /** Milliseconds since the epoch, to read a Retry-After that is a date. */
  now: () => number;
}

const maxHeaderSize = 32 * 1024;

/** How often a GET that got no usable answer is sent again within its deadline, and how long the first pause is. */
const readRetry = { retries: 2, minTimeout: 100, factor: 3, randomize: true };

/** Agents kept: two per CA bundle and proxy, the least recently used closed beyond this many. */
const mostAgents = 128;

/** Two of the largest lists at a time; the service's own answers nest five deep. */
const bodyBounds: BodyBounds = { together: 2 * mostBytes.endpoints, deepest: 64 };

/** HTTP to the service: pooled connections, verified TLS, no redirects, bounded bodies; GETs are sent again. */
export function httpServiceTransport(options: HttpTransportOptions): ServiceTransport & { close(): Promise<void> } {
  const agents = new Map<string, Dispatcher>();

  const bodies = new Bodies(options.bodies ?? bodyBounds);

  function agentFor({ method, baseURL, caBundle }: ServiceRequest): Dispatcher {
    const proxy = proxyFor(baseURL, undefined, options.env ?? {});
    // Writes have connections of their own: one that waits behind lists until its time is up would count as sent.
    const name = JSON.stringify([caBundle, proxy, method !== "GET"]);
    const agent = agents.get(name) ?? makeAgent(caBundle, proxy);
    agents.delete(name);
    agents.set(name, agent);
    const [oldest] = agents.keys();
    if (agents.size > mostAgents && oldest !== undefined) {
      void agents.get(oldest)?.close();
      agents.delete(oldest);
    }
    return agent;
  }

  async function once(request: ServiceRequest, signal: AbortSignal): Promise<ServiceResponse> {
    const url = new URL(request.baseURL + request.path);
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value);
    const headers: Record<string, string> = {
      accept: "application/json",
      authorization: request.key.authorization(),
      "user-agent": options.userAgent,
    };
    if (request.body !== undefined) headers["content-type"] = "application/json";
    try {
      const answer = await send(url, {
        dispatcher: agentFor(request),
        method: request.method,
        headers,
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal,
      });
      const text = await bodies.text(answer.body, request.maxBytes ?? mostBytes.other);
      return {
        status: answer.statusCode,
        bytes: text.length,
        ...bodies.parsed(text),
        retryAfterMs: retryAfterMs(answer.headers["retry-after"], options.now()),
      };
    } catch (error) {
      throw new NoResponseError(reasonOf(error, request.caBundle), error instanceof TooLarge ? { cause: error } : {});
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
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.close()));
    },
  };
}

/** What asking again would not mend is not asked again. */
function nonRetryable(error: unknown): never {
  throw error instanceof NoResponseError && error.cause instanceof TooLarge ? new AbortError(error) : error;
}

function makeAgent(caBundle: string | undefined, proxy: string | undefined): Dispatcher {
  // Set explicitly, so that no variable of the environment can turn it off.
  const verified = { rejectUnauthorized: true };
  const tls = { ...verified, ca: caBundle };
  const limits = { connections: 16, allowH2: false, maxHeaderSize };
  if (proxy === undefined) return new Agent({ ...limits, connect: tls });
  return new ProxyAgent({ ...limits, uri: proxy, proxyTls: verified, requestTls: tls });
}

function retryAfterMs(header: string | string[] | undefined, now: number): number | undefined {
  if (typeof header !== "string") return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) && ms >= 0 ? Math.min(ms, 3_600_000) : undefined;
}
