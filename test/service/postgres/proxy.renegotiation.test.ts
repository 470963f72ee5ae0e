import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect, type TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { Proxy } from "../../../src/service/postgres/proxy/proxy.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const made = Date.UTC(2026, 0, 1);
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Asks for a new handshake within a connection; answers whether it was carried out. */
function renegotiated(socket: TLSSocket): Promise<boolean> {
  return new Promise((resolve) => {
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    socket.renegotiate({ rejectUnauthorized: false }, (error) => resolve(error === null));
  });
}

it("a stranger gets one TLS handshake of a connection, and no further ones, each of which costs more than it", async () => {
  const proxy = new Proxy({
    clock: new VirtualClock(),
    certificate: certificateFor(["localhost"], newAuthority(made), made),
    admit: () => Promise.reject(new Error("nobody logs in")),
    onError: () => {},
  });
  const port = await proxy.listen(0, "127.0.0.1");
  const socket = connectTcp({ port, host: "127.0.0.1" });
  socket.write(sslRequest);
  await once(socket, "data");
  const client = connect({ socket, rejectUnauthorized: false, maxVersion: "TLSv1.2" });
  client.on("error", () => {});
  await once(client, "secureConnect");
  expect([client.getProtocol(), await renegotiated(client)]).toEqual(["TLSv1.2", false]);
  client.destroy();
  await proxy.close();
});
