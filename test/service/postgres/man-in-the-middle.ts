import { connect, createServer, type Server, type Socket } from "node:net";
import { createSecureContext, connect as secureConnect, TLSSocket } from "node:tls";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";

/** SSLRequest of Postgres's protocol. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Ends the TLS of clients with a certificate of its own, and carries what they say to the real proxy. */
export class ManInTheMiddle implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly port: number;

  static async start(target: { host: string; port: number; serverName: string }): Promise<ManInTheMiddle> {
    const { certificate, key } = certificateFor([target.serverName], newAuthority());
    const secureContext = createSecureContext({ cert: certificate, key });
    const sockets = new Set<Socket>();
    const server = createServer((client) => {
      const there = connect(target.port, target.host);
      for (const socket of [client, there]) sockets.add(socket.on("error", () => socket.destroy()));
      client.once("data", () => {
        there.write(sslRequest);
        there.once("data", () => {
          client.write("S");
          const ours = new TLSSocket(client, { isServer: true, secureContext });
          const theirs = secureConnect({ socket: there, servername: target.serverName, rejectUnauthorized: false });
          for (const one of [ours, theirs]) one.on("error", () => one.destroy());
          ours.pipe(theirs).pipe(ours);
        });
      });
    });
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" && address ? address.port : 0);
      });
    });
    return new ManInTheMiddle(server, sockets, port);
  }

  private constructor(server: Server, sockets: Set<Socket>, port: number) {
    this.#server = server;
    this.#sockets = sockets;
    this.port = port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
