import type { Dispatcher } from "undici";
import { type Clock, unlessAborted } from "../runtime/clock.ts";
import { bodyText, connectionsTo, retryAfterMs, send } from "../runtime/http.ts";
import { viaProxy } from "../runtime/proxy.ts";
import { shortlyMs } from "../runtime/waits.ts";
import { ClusterError, ClusterUnreachable, errorOf } from "./errors.ts";
import type { ClusterConnection, ClusterCredentials } from "./kubeconfig.ts";
import type { ClusterRequest, ClusterResponse, ClusterTransport, WatchLine } from "./transport.ts";

export interface HttpTransportOptions {
  connection: Pick<ClusterConnection, "server" | "proxy" | "credentials">;
  clock: Clock;
  userAgent: string;
  /** Connections for requests; each watch has a connection of its own. Default 16, as many as workers. */
  connections?: number;
  /** The largest answer, and the longest line of a watch. Default 16 MiB: a larger page is listed in smaller ones. */
  maxBodyBytes?: number;
}

const keepAliveMs = 30_000;
const leasesPath = "/apis/coordination.k8s.io/";

interface Session {
  headers: Readonly<Record<string, string>>;
  /** A fingerprint of the TLS settings; when it changes, the connections are replaced. */
  tls: string;
  requests: Dispatcher;
  watches: Dispatcher;
  leases: Dispatcher;
}

/**
 * The transport to the API server over HTTP/1.1. Requests share a pool of connections; watches and leases have pools of
 * their own, so that a watch never delays a request and a hanging request never costs the lease. Every request has a
 * deadline, every answer a size limit.
 */
export class HttpTransport implements ClusterTransport {
  readonly #options: HttpTransportOptions;
  readonly #server: URL;
  readonly #maxBodyBytes: number;
  #session: { current: Promise<Session>; until: number } | undefined;
  /** The latest complete session: reading credentials may hang once and succeed the next time. */
  #made: Session | undefined;
  #closed = false;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#server = new URL(options.connection.server);
    this.#maxBodyBytes = options.maxBodyBytes ?? 16 * 1024 * 1024;
  }

  async request(
    request: ClusterRequest,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<ClusterResponse> {
    const doing = `${request.method} ${request.path}`;
    const deadline = deadlineOf(this.#options.clock, timeoutMs, signal, `no answer within ${timeoutMs} ms`);
    try {
      const session = await unlessAborted(this.#connect(), deadline.signal);
      const way = request.path.startsWith(leasesPath) ? session.leases : session.requests;
      const answer = await this.#send(way, session, request, deadline.signal);
      const text = await bodyText(answer.body, this.#maxBodyBytes);
      return this.#response(answer.statusCode, answer.headers["retry-after"], text);
    } catch (error) {
      throw this.#unreachable(doing, deadline.signal.aborted ? deadline.signal.reason : error);
    } finally {
      deadline.cancel();
    }
  }

  async *watch(
    request: { path: string; query: Readonly<Record<string, string>> },
    { signal, idleTimeoutMs }: { signal: AbortSignal; idleTimeoutMs: number },
  ): AsyncGenerator<WatchLine> {
    const doing = `watch ${request.path}`;
    const deadline = deadlineOf(this.#options.clock, idleTimeoutMs, signal, `nothing came for ${idleTimeoutMs} ms`);
    try {
      const session = await unlessAborted(this.#connect(), deadline.signal);
      const answer = await this.#send(session.watches, session, { ...request, method: "GET" }, deadline.signal);
      if (answer.statusCode !== 200) {
        const text = await bodyText(answer.body, this.#maxBodyBytes);
        throw errorOf(this.#response(answer.statusCode, answer.headers["retry-after"], text), doing);
      }
      for await (const line of watchLines(answer.body, this.#maxBodyBytes)) {
        deadline.restart();
        yield line;
        // The reader may have been slow, and nothing was read meanwhile.
        deadline.restart();
      }
    } catch (error) {
      throw this.#unreachable(doing, deadline.signal.aborted ? deadline.signal.reason : error);
    } finally {
      deadline.cancel();
    }
  }

  #unreachable(doing: string, error: unknown): unknown {
    if (!(error instanceof Error) || error instanceof ClusterError || error instanceof ClusterUnreachable) return error;
    const { proxy } = this.#options.connection;
    return new ClusterUnreachable(`${doing}: ${wordsOf(error)}${viaProxy(proxy)}`, { cause: error });
  }

  #send(way: Dispatcher, session: Session, request: ClusterRequest, signal: AbortSignal) {
    return send(way, {
      origin: this.#server.origin,
      path: this.#path(request.path, request.query),
      method: request.method,
      headers: this.#headers(session, request),
      body: request.body === undefined ? null : JSON.stringify(request.body),
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Closes all connections; the transport cannot be used again. */
  async close(): Promise<void> {
    this.#closed = true;
    const session = this.#made;
    await Promise.all([session?.requests.destroy(), session?.watches.destroy(), session?.leases.destroy()]);
  }

  /** The current connections and headers; new ones if the credentials have changed. */
  #connect(): Promise<Session> {
    if (this.#closed) return Promise.reject(new Error("the transport is closed"));
    const now = this.#options.clock.monotonic();
    const before = this.#session;
    if (before !== undefined && now < before.until) return before.current;
    const current = this.#renew();
    this.#session = { current, until: now + shortlyMs };
    current.catch(() => {
      if (this.#session?.current === current) this.#session = undefined;
    });
    return current;
  }

  async #renew(): Promise<Session> {
    const { headers, tls } = await this.#options.connection.credentials();
    if (this.#closed) throw new Error("the transport is closed");
    const old = this.#made;
    const fingerprint = JSON.stringify(tls);
    if (old?.tls === fingerprint) return { ...old, headers };
    // Requests in flight on the old connections finish.
    void old?.requests.close();
    void old?.watches.close();
    void old?.leases.close();
    const { connections = 16 } = this.#options;
    const requests = this.#pool(tls, connections);
    this.#made = { headers, tls: fingerprint, requests, watches: this.#pool(tls, null), leases: this.#pool(tls, 2) };
    return this.#made;
  }

  #pool(tls: ClusterCredentials["tls"], connections: number | null): Dispatcher {
    const keepAlive = { keepAlive: true, keepAliveInitialDelay: keepAliveMs };
    return connectionsTo({ ...tls, ...keepAlive }, this.#options.connection.proxy, {
      connections,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
    });
  }

  #headers(session: Session, request: Pick<ClusterRequest, "body" | "contentType">): Record<string, string> {
    const headers = { ...session.headers, accept: "application/json", "user-agent": this.#options.userAgent };
    return request.body === undefined
      ? headers
      : { ...headers, "content-type": request.contentType ?? "application/json" };
  }

  /** The server's URL may have a path, as behind Rancher. */
  #path(path: string, query: Readonly<Record<string, string>> = {}): string {
    const search = new URLSearchParams(query).toString();
    const base = this.#server.pathname.replace(/\/$/, "");
    return `${base}${path}${search === "" ? "" : `?${search}`}`;
  }

  #response(status: number, retryAfter: string | string[] | undefined, text: string): ClusterResponse {
    // The credentials were refused: read them again for the next request.
    if (status === 401 && this.#session !== undefined) this.#session.until = 0;
    const body = parsed(text, status);
    const waitMs = retryAfterMs(retryAfter, this.#options.clock.now());
    return waitMs === undefined ? { status, body } : { status, body, retryAfterMs: waitMs };
  }
}

/** A refusal may come from a proxy in any form; a success must be JSON. */
function parsed(text: string, status: number): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (status >= 300) return undefined;
    throw new Error(`status ${status}, and a body that is not JSON`, { cause: error });
  }
}

/** After several failed addresses Node sets a code and leaves the message empty. */
function wordsOf(error: Error): string {
  if (error.message !== "") return error.message;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

/** The lines of a watch's body. Throws if the body ends within a line, or if a line is too long or not an event. */
export async function* watchLines(body: AsyncIterable<Uint8Array>, maxLineBytes: number): AsyncGenerator<WatchLine> {
  const decoder = new TextDecoder();
  /** The pieces of a line that is not complete yet. */
  let pieces: string[] = [];
  let size = 0;
  for await (const chunk of body) {
    const lines = decoder.decode(chunk, { stream: true }).split("\n");
    const last = lines.pop() ?? "";
    for (const line of lines) {
      const whole = pieces.join("") + line;
      pieces = [];
      size = 0;
      if (whole.trim() !== "") yield lineOf(whole);
    }
    pieces.push(last);
    size += last.length;
    if (size > maxLineBytes) throw new Error(`a line of more than ${maxLineBytes} bytes`);
  }
  if (pieces.join("").trim() !== "") throw new Error("cut off in the middle of a line");
}

function lineOf(text: string): WatchLine {
  const line: unknown = JSON.parse(text);
  if (
    typeof line === "object" &&
    line !== null &&
    "type" in line &&
    typeof line.type === "string" &&
    "object" in line
  ) {
    return { type: line.type, object: line.object };
  }
  throw new Error("a line that is not an event");
}

/** A signal that aborts with the caller's signal or after a time, whichever is first. */
function deadlineOf(clock: Clock, timeoutMs: number, outer: AbortSignal, late: string) {
  const controller = new AbortController();
  const onAbort = () => controller.abort(outer.reason);
  if (outer.aborted) onAbort();
  else outer.addEventListener("abort", onAbort, { once: true });
  const start = () => clock.after(timeoutMs, () => controller.abort(new Error(late)));
  let cancelTimer = start();
  return {
    signal: controller.signal,
    /** Restarts the time. */
    restart() {
      cancelTimer();
      cancelTimer = start();
    },
    /** Must be called in the end. */
    cancel() {
      cancelTimer();
      outer.removeEventListener("abort", onAbort);
    },
  };
}
