import pRetry, { AbortError } from "p-retry";
import { Agent, type Dispatcher, EnvHttpProxyAgent, request as send } from "undici";
import { NoAnswer, type ServiceRequest, type ServiceResponse, type ServiceTransport } from "./transport.ts";

/** What the network adapter needs to know of the process around it. */
export interface HttpTransportOptions {
  /** Sent as User-Agent. */
  userAgent: string;
  /** Proxies to go through, as the usual environment variables name them. */
  proxy?: { http?: string; https?: string; none?: string };
  /** The largest body read, in bytes. A project of ten thousand computes lists in some 7 MB. */
  maxBodyBytes?: number;
  /** Milliseconds since the epoch, to read a Retry-After that is a date. */
  now: () => number;
}

/** How often a GET that got no usable answer is sent again within its deadline, and how long the first pause is. */
const readRetry = { retries: 2, minTimeout: 100, factor: 3, randomize: true };

/** Agents kept for private authorities: one per CA bundle, the least recently used closed beyond this many. */
const mostAgents = 64;

/** HTTP to the service: pooled connections, verified TLS, no redirects, bounded bodies; GETs are sent again. */
export function httpServiceTransport(options: HttpTransportOptions): ServiceTransport & { close(): Promise<void> } {
  const agents = new Map<string, Dispatcher>();

  function agentFor(caBundle: string): Dispatcher {
    const known = agents.get(caBundle);
    if (known !== undefined) {
      agents.delete(caBundle);
      agents.set(caBundle, known);
      return known;
    }
    const agent = makeAgent(options, caBundle);
    agents.set(caBundle, agent);
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
        dispatcher: agentFor(request.caBundle ?? ""),
        method: request.method,
        headers,
        body: request.body === undefined ? null : JSON.stringify(request.body),
        signal,
      });
      const text = await boundedText(answer.body, options.maxBodyBytes ?? 64 * 1024 * 1024);
      const wait = retryAfterMs(answer.headers["retry-after"], options.now());
      return { status: answer.statusCode, ...parsed(text), ...(wait === undefined ? {} : { retryAfterMs: wait }) };
    } catch (error) {
      throw new NoAnswer(reasonOf(error));
    }
  }

  return {
    async send(request, { signal, timeoutMs }) {
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      if (request.method !== "GET") return once(request, deadline);
      let last: ServiceResponse | undefined;
      try {
        return await pRetry(
          async () => {
            last = undefined;
            if (deadline.aborted) throw new AbortError(new NoAnswer("no answer in time"));
            const response = await once(request, deadline);
            if (![502, 503, 504].includes(response.status) || response.retryAfterMs !== undefined) return response;
            last = response;
            throw new Error(`HTTP ${response.status}`);
          },
          { ...readRetry, signal: deadline },
        );
      } catch (error) {
        if (last !== undefined) return last;
        throw error instanceof NoAnswer ? error : new NoAnswer(reasonOf(error));
      }
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.close()));
    },
  };
}

function makeAgent({ proxy }: HttpTransportOptions, caBundle: string): Dispatcher {
  const tls = caBundle === "" ? {} : { ca: caBundle };
  const limits = { connections: 16, headersTimeout: 30_000, bodyTimeout: 30_000, maxHeaderSize: 32 * 1024 };
  if (proxy?.http === undefined && proxy?.https === undefined) return new Agent({ ...limits, connect: tls });
  return new EnvHttpProxyAgent({
    ...limits,
    connect: tls,
    requestTls: tls,
    ...(proxy.http === undefined ? {} : { httpProxy: proxy.http }),
    ...(proxy.https === undefined ? {} : { httpsProxy: proxy.https }),
    ...(proxy.none === undefined ? {} : { noProxy: proxy.none }),
  });
}

async function boundedText(body: Dispatcher.ResponseData["body"], most: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    const chunk = Buffer.from(part);
    size += chunk.length;
    if (size > most) throw new Error(`the answer is larger than ${most} bytes`);
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString("utf8");
}

function parsed(text: string): { body: unknown; json: boolean } {
  if (text === "") return { body: undefined, json: false };
  try {
    return { body: JSON.parse(text), json: true };
  } catch {
    return { body: undefined, json: false };
  }
}

function retryAfterMs(header: string | string[] | undefined, now: number): number | undefined {
  if (typeof header !== "string") return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now;
  return Number.isFinite(ms) && ms >= 0 ? Math.min(ms, 3_600_000) : undefined;
}

/** The reason of a network error in a few words; nothing of the request, whose headers hold the key. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "no answer";
  if (error.name === "TimeoutError") return "no answer in time";
  if (error.name === "AbortError") return "called off";
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  if (error instanceof AggregateError) return code ?? "cannot connect";
  return code === undefined ? error.message : `${code}: ${error.message}`;
}
