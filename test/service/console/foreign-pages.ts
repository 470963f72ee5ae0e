import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** The pages of somebody else, on a port of this machine: under its own names, and under any that ends with `.test`. */
export class ForeignPages implements AsyncDisposable {
  readonly port: number;
  /** The HTML of every page from now on. */
  html = "";
  readonly #server: Server;

  static async start(): Promise<ForeignPages> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new ForeignPages(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    const address: AddressInfo | string | null = server.address();
    this.port = typeof address === "object" && address !== null ? address.port : 0;
    server.on("request", (_, answer) => {
      answer
        .setHeader("content-type", "text/html; charset=utf-8")
        .end(`<!doctype html><title>foreign</title>${this.html}`);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
