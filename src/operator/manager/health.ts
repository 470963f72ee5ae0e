import { createServer, type Server, type ServerResponse } from "node:http";
import type { Operator } from "../operator.ts";
import type { Logger } from "../runtime/log.ts";

/** The operator, as the health server asks it. */
type Asked = Pick<Operator, "stuck" | "unready"> & { metrics: { contentType: string; text(): Promise<string> } };

/** Serves `/healthz`, `/readyz` and `/metrics`; resolves when it listens, rejects if the port is not available. */
export async function serveHealth(operator: Asked, port: number, log: Pick<Logger, "error">): Promise<Server> {
  const server = createServer((request, response) => {
    const url = request.url ?? "/";
    // A defect in an answer must not end the process, which has other work.
    respond(operator, url, response).catch((error: unknown) => {
      log.error({ url, error }, "A request to the health server failed");
      if (!response.headersSent) response.writeHead(500, { "content-type": "text/plain; charset=utf-8" });
      response.end("internal error; the log says more\n");
    });
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

async function respond(operator: Asked, url: string, response: ServerResponse): Promise<void> {
  const { status, type, body } = await answer(operator, url.split("?")[0] ?? url);
  response.writeHead(status, { "content-type": type }).end(body);
}

async function answer(operator: Asked, path: string): Promise<{ status: number; type: string; body: string }> {
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
