import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { freePort } from "./ports.ts";

/** One request that went through. */
export interface CountedRequest {
  method: string;
  /** With the query, e.g. `/api/v2/projects/shiny-wind-028834/endpoints`. */
  path: string;
  body: string;
  /** When it arrived and when its answer had been passed on, in milliseconds of `performance.now`. */
  arrivedAt: number;
  answeredAt?: number;
  /** Of the answer; absent while there is none, and where none came. */
  status?: number;
}

/** An answer of the proxy's own, in place of the service's; `drop` ends the connection without one. */
export type Answer = { status: number; headers?: Record<string, string>; body: string } | "drop";

/** Stands before the service and counts: on the same port for ever, whatever becomes of the service behind it. */
export class CountingProxy implements AsyncDisposable {
  /** To be used in place of the service's, e.g. `http://127.0.0.1:34567/api/v2`. */
  readonly baseURL: string;
  /** Everything that has arrived, oldest first. */
  requests: CountedRequest[] = [];
  /** Where set, what it answers is the answer, and the service hears nothing; `undefined` lets the request through. */
  instead: ((request: CountedRequest) => Answer | undefined) | undefined;
  /**
   * Where set, how long a request is held up before it goes on, in milliseconds, whether or not anybody still waits.
   */
  holdMs: ((request: CountedRequest) => number) | undefined;
  readonly #server: Server;
  readonly #target: string;
  readonly #listeners = new Set<(request: CountedRequest) => void>();

  /** Listens on the port that is wished for, where that is free, else on any. */
  static async start(target: { baseURL: string }, wish?: number): Promise<CountingProxy> {
    const origin = new URL(target.baseURL).origin;
    if (wish === undefined) return CountingProxy.#listen(await freePort(), origin);
    return CountingProxy.#listen(wish, origin).catch(() => CountingProxy.start(target));
  }

  static async #listen(port: number, origin: string): Promise<CountingProxy> {
    const proxy = new CountingProxy(port, origin);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
    return proxy;
  }

  private constructor(port: number, target: string) {
    this.baseURL = `http://127.0.0.1:${port}/api/v2`;
    this.#target = target;
    // The service's own word on how long it keeps a connection is passed on: one that ends before, as a write is on its
    // way, leaves that write's outcome unknown.
    this.#server = createServer({ keepAliveTimeout: 0 }, (incoming, outgoing) => this.#serve(incoming, outgoing));
  }

  /** What changes something at the service. */
  get writes(): CountedRequest[] {
    return this.requests.filter(({ method }) => method !== "GET");
  }

  get reads(): CountedRequest[] {
    return this.requests.filter(({ method }) => method === "GET");
  }

  /** Forgets all that has arrived. */
  clear(): void {
    this.requests = [];
  }

  /** Calls back as soon as a request is complete, before it goes on; the answer stops that. */
  onRequest(listener: (request: CountedRequest) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = "GET", url: path = "/" } = incoming;
    const counted: CountedRequest = { method, path, body: "", arrivedAt: performance.now() };
    incoming.setEncoding("utf8");
    incoming.on("data", (text: string) => {
      counted.body += text;
    });
    incoming.on("end", () => {
      this.requests.push(counted);
      for (const listener of this.#listeners) listener(counted);
      const answer = this.instead?.(counted);
      const held = this.holdMs?.(counted) ?? 0;
      if (answer === undefined && held > 0) setTimeout(() => this.#forward(incoming, counted, outgoing), held);
      else if (answer === undefined) this.#forward(incoming, counted, outgoing);
      else if (answer === "drop") outgoing.destroy();
      else this.#answer(answer, counted, outgoing);
    });
  }

  #forward(incoming: IncomingMessage, counted: CountedRequest, outgoing: ServerResponse): void {
    // `Host` too: the service tells by it which name its own pages and forms came from.
    const { headers } = incoming;
    const onward = request(`${this.#target}${counted.path}`, { method: counted.method, headers }, (answer) => {
      counted.status = answer.statusCode ?? 0;
      outgoing.writeHead(counted.status, answer.headers);
      answer.pipe(outgoing);
      answer.on("error", () => outgoing.destroy());
      answer.on("end", () => {
        if (!outgoing.destroyed) counted.answeredAt = performance.now();
      });
    });
    onward.on("error", () => outgoing.destroy());
    onward.end(counted.body);
  }

  #answer({ status, headers, body }: Exclude<Answer, "drop">, counted: CountedRequest, outgoing: ServerResponse): void {
    counted.status = status;
    outgoing.writeHead(status, { "content-type": "text/html", ...headers });
    outgoing.end(body, () => {
      counted.answeredAt = performance.now();
    });
  }
}
