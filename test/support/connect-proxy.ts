import { createServer, type IncomingMessage } from "node:http";
import { connect } from "node:net";

/**
 * A proxy on a free port that opens tunnels (CONNECT), and writes down where to and with which headers it was asked.
 */
export class ConnectProxy {
  /** Where tunnels were opened to, as `host:port`. */
  readonly tunnels: string[] = [];
  readonly headers: IncomingMessage["headers"][] = [];
  /** The status of its answers: what is not 200 refuses. */
  status = 200;
  readonly #server = createServer((_, response) => response.writeHead(405).end());
  #url = "";

  static async start(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    const address = proxy.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("the proxy has no port");
    proxy.#url = `http://127.0.0.1:${address.port}`;
    return proxy;
  }

  private constructor() {
    this.#server.on("connect", (request, socket) => {
      this.tunnels.push(request.url ?? "");
      this.headers.push(request.headers);
      if (this.status !== 200) {
        socket.end(`HTTP/1.1 ${this.status} No\r\n\r\n`);
        return;
      }
      const { hostname, port } = new URL(`http://${request.url}`);
      const onward = connect(Number(port), hostname, () => {
        socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
        onward.pipe(socket).pipe(onward);
      });
      for (const end of [socket, onward]) {
        end.on("error", () => {
          onward.destroy();
          socket.destroy();
        });
      }
    });
  }

  get url(): string {
    return this.#url;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
