import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { DriverAccess } from "../../../src/service/postgres/driver/driver-access.ts";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { Proxy } from "../../../src/service/postgres/proxy/proxy.ts";
import { realClock } from "../../support/real-clock.ts";

/** Remembers which computes the clients of WebSockets mean, and what these send. */
class Recording extends Proxy {
  readonly served: (string | undefined)[] = [];
  readonly networks = new Set<string>();
  received = "";

  override serveWebSocket(stream: Duplex, host: string | undefined, from: string): void {
    this.served.push(host);
    this.networks.add(from);
    stream
      .on("error", () => {})
      .on("data", (chunk: Buffer) => {
        this.received += chunk.toString();
      });
  }
}

const nobody = () => Promise.reject(new Error("nobody is let in"));

/** Takes WebSockets, and answers what remembers them and the port. */
async function listening(release = () => {}): Promise<{ proxy: Recording; port: number }> {
  const certificate = certificateFor(["localhost"], newAuthority());
  const proxy = new Recording({ clock: realClock, certificate, admit: nobody, onError: () => {} });
  const access = new DriverAccess(realClock, proxy, nobody, nobody);
  const server = createServer().on("upgrade", (incoming, socket, head) => {
    access.upgrade(incoming, socket, head, new URL(incoming.url ?? "", "http://localhost"), release);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  return { proxy, port: typeof address === "object" && address ? address.port : 0 };
}

it("a WebSocket leads to the compute of its address, or without one of its host, where that is a compute's", async () => {
  const { proxy, port } = await listening();
  for (const [path, host] of [
    ["/v2", "ep-main.localhost"],
    ["/v2", "api.localhost"],
    ["/v2", "api-ep-.localhost"],
    ["/v2?address=ep-other.localhost:5432", "ep-main.localhost"],
  ] as const) {
    const client = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: { host } });
    await once(client, "open");
    client.terminate();
  }
  expect(proxy.served).toEqual(["ep-main.localhost", undefined, undefined, "ep-other.localhost:5432"]);
  expect([...proxy.networks]).toEqual(["127.0.0.1"]);
});

it("what a client sends behind its handshake, without waiting for the answer, is read first", async () => {
  const { proxy, port } = await listening();
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
  });
  const lines = [
    "GET /v2 HTTP/1.1",
    "host: ep-main.localhost",
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    "",
    "",
  ];
  // A binary message whose mask changes nothing.
  const frame = Buffer.from([0x82, 0x85, 0, 0, 0, 0, ...Buffer.from("early")]);
  socket.write(Buffer.concat([Buffer.from(lines.join("\r\n")), frame]));
  await expect.poll(() => proxy.received).toBe("early");
});

it("what is held for a client whose handshake is refused is given back as its connection ends, and no sooner", async () => {
  let released = 0;
  const { proxy, port } = await listening(() => (released += 1));
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.resume().write("GET /v2 HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n");
  await once(socket, "end");
  expect(released).toBe(0);
  socket.destroy();
  await expect.poll(() => released).toBe(1);
  expect(proxy.served).toEqual([]);
});
