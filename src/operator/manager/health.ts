import { createServer, type Server, type ServerResponse } from "node:http";
import type { Operator } from "../operator.ts";

/** Serves `/healthz`, `/readyz` and `/metrics`; resolves when it listens, rejects if the port is not available. */
export async function serveHealth(operator: Operator, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    void respond(operator, request.url ?? "/", response);
  });
  server.requestTimeout = 10_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => {
      reject(
        new Error(`cannot listen on port ${port}: ${error.message}. Choose another with --http-port, or 0 for none.`),
      );
    });
    server.listen(port, resolve);
  });
  return server;
}

async function respond(operator: Operator, url: string, response: ServerResponse): Promise<void> {
  const { status, type, body } = await answer(operator, url.split("?")[0] ?? url);
  response.writeHead(status, { "content-type": type }).end(body);
}

async function answer(operator: Operator, path: string): Promise<{ status: number; type: string; body: string }> {
  const text = (status: number, body: string) => ({ status, type: "text/plain; charset=utf-8", body: `${body}\n` });
  switch (path) {
    case "/healthz": {
      const stuck = operator.stuck();
      return stuck === undefined ? text(200, "ok") : text(503, stuck);
    }
    case "/readyz": {
      const unready = operator.unready();
      return unready === undefined ? text(200, "ok") : text(503, unready);
    }
    case "/metrics":
      return { status: 200, type: operator.metrics.contentType, body: await operator.metrics.text() };
    default:
      return text(404, "This port serves /healthz, /readyz and /metrics.");
  }
}
