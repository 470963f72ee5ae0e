import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadKubeConfig } from "../../src/operator/kube/kubeconfig.ts";
import { freePort } from "../support/ports.ts";

/** A request of the operator to the API server that changes something. */
export interface ClusterWrite {
  method: string;
  path: string;
  body: string;
}

/**
 * Stands between operator and API server, by plain HTTP. A test can do something before a write goes on, and before
 * its answer does.
 */
export class ApiFront implements AsyncDisposable {
  /** E.g. `http://127.0.0.1:34567`. */
  readonly url: string;
  /** A kubeconfig that leads here. */
  readonly kubeconfig: string;
  /** Called with each write at its arrival, and once the API server has answered; it goes on when this resolves. */
  at: ((stroke: "arrival" | "answer", write: ClusterWrite) => Promise<void> | undefined) | undefined;
  readonly #server: Server;
  readonly #directory: string;

  static async start(kubeconfig: string): Promise<ApiFront> {
    const connection = loadKubeConfig({ file: kubeconfig, env: {} });
    const { tls } = await connection.credentials();
    const port = await freePort();
    const front = new ApiFront(port, connection.server, new Agent({ ...tls, keepAlive: true }));
    await new Promise<void>((resolve, reject) => {
      front.#server.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
    return front;
  }

  private constructor(port: number, origin: string, agent: Agent) {
    this.#directory = mkdtempSync(join(tmpdir(), "front-"));
    this.kubeconfig = join(this.#directory, "kubeconfig");
    this.url = `http://127.0.0.1:${port}`;
    writeFileSync(this.kubeconfig, kubeconfigTo(this.url));
    // As the API server, it does not end a connection under a request that is on its way.
    this.#server = createServer({ keepAliveTimeout: 0 }, (incoming, outgoing) => {
      this.#serve(incoming, outgoing, origin, agent).catch(() => outgoing.destroy());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.#directory, { recursive: true });
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse, origin: string, agent: Agent): Promise<void> {
    const { method = "GET", url: path = "/" } = incoming;
    incoming.setEncoding("utf8");
    let body = "";
    for await (const chunk of incoming) body += String(chunk);
    const write = method === "GET" ? undefined : { method, path, body };
    if (write !== undefined) await this.at?.("arrival", write);
    const { host: _, connection: __, ...headers } = incoming.headers;
    const onward = request(`${origin}${path}`, { method, headers, agent }, (answer) => {
      const pass = () => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(outgoing);
      };
      const held = write === undefined ? undefined : this.at?.("answer", write);
      if (held === undefined) pass();
      else held.then(pass, () => outgoing.destroy());
    });
    outgoing.on("close", () => onward.destroy());
    onward.on("error", () => outgoing.destroy());
    onward.end(body);
  }
}

/** A kubeconfig for nobody: its requests carry no login. */
export function kubeconfigTo(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "front", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "front", user: {} }],
    contexts: [{ name: "front", context: { cluster: "front", user: "front" } }],
    "current-context": "front",
  });
}
