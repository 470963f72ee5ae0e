import { createServer } from "node:http";
import type { Duplex } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { DriverAccess } from "../../../src/service/postgres/driver/driver-access.ts";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { Proxy } from "../../../src/service/postgres/proxy/proxy.ts";
import { realClock } from "../../support/real-clock.ts";

/** Remembers which computes the clients of WebSockets mean. */
class Recording extends Proxy {
  readonly served: (string | undefined)[] = [];

  override serveWebSocket(stream: Duplex, host: string | undefined): void {
    this.served.push(host);
    stream.end();
  }
}

const nobody = () => Promise.reject(new Error("nobody is let in"));

it("a WebSocket leads to the compute of its address, or without one of its host, where that is a compute's", async () => {
  const certificate = certificateFor(["localhost"], newAuthority(0), 0);
  const proxy = new Recording({ clock: realClock, certificate, admit: nobody, onError: () => {} });
  const access = new DriverAccess(realClock, proxy, nobody, nobody);
  const server = createServer().on("upgrade", (incoming, socket, head) => {
    access.upgrade(incoming, socket, head, new URL(incoming.url ?? "", "http://localhost"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  for (const [path, host] of [
    ["/v2", "ep-main.localhost"],
    ["/v2", "api.localhost"],
    ["/v2", "api-ep-.localhost"],
    ["/v2?address=ep-other.localhost:5432", "ep-main.localhost"],
  ] as const) {
    const client = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: { host } });
    await new Promise((resolve) => client.once("close", resolve));
  }
  expect(proxy.served).toEqual(["ep-main.localhost", undefined, undefined, "ep-other.localhost:5432"]);
});
