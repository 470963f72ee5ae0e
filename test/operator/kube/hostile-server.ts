import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Answers a request as a test wants it. */
export type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

/** A server on a free port that does to each request what the test says, and counts connections and requests. */
export class HostileServer {
  behaviour: Behaviour = (_request, response) => json(response, 200, {});
  connections = 0;
  readonly requests: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8");
      request.on("data", (chunk: string) => {
        body += chunk;
      });
      request.on("end", () => {
        this.requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
        this.behaviour(request, response);
      });
    });
    // A connection ends because a client closes it, and not because nothing was sent for some seconds.
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on("connection", (socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the server has no port");
    return `http://127.0.0.1:${address.port}`;
  }

  /** How many connections are open now. */
  get open(): number {
    return this.#sockets.size;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** A Status as kube-apiserver sends it. */
export function statusBody(code: number, reason: string, message = `${reason} for a test`) {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}
