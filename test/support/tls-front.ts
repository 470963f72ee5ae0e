import { connect, type Socket } from "node:net";
import { createServer, type Server } from "node:tls";
import type { Authority } from "./authority.ts";
import { freePort } from "./ports.ts";

/** Ends TLS before a service that speaks plain HTTP. */
export class TlsFront implements AsyncDisposable {
  /** To be used in place of the service's, e.g. `https://127.0.0.1:34567/api/v2`. */
  readonly baseURL: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async start(target: { baseURL: string }, authority: Authority): Promise<TlsFront> {
    const port = await freePort();
    const front = new TlsFront(port, Number(new URL(target.baseURL).port), authority);
    await new Promise<void>((resolve, reject) => {
      front.#server.once("error", reject).listen(port, "127.0.0.1", resolve);
    });
    return front;
  }

  private constructor(port: number, behind: number, { server }: Authority) {
    this.baseURL = `https://127.0.0.1:${port}/api/v2`;
    this.#server = createServer(server, (secure) => {
      const onward = connect(behind, "127.0.0.1");
      for (const socket of [secure, onward]) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          for (const other of [secure, onward]) other.destroy();
        });
      }
      secure.pipe(onward).pipe(secure);
    });
  }

  /** Shows a certificate of another authority from now on, also on open connections. */
  show({ server }: Authority): void {
    this.#server.setSecureContext(server);
    this.#cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
