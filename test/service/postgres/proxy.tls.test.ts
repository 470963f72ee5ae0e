import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { Proxy } from "../../../src/service/postgres/proxy/proxy.ts";
import { startupPacket } from "../../../src/service/postgres/session/messages.ts";
import { Rejection } from "../../../src/service/postgres/session/rejection.ts";
import { answerAfterKeyChanges } from "../../support/key-changes.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** A proxy that lets nobody in, and says which compute was meant. */
async function listening(): Promise<{ proxy: Proxy; port: number }> {
  const proxy = new Proxy({
    clock: new VirtualClock(),
    certificate: certificateFor(["localhost"], newAuthority()),
    admit: ({ endpointId }) => Promise.reject(new Rejection("08P01", `nobody logs in at ${endpointId}`)),
    onError: () => {},
  });
  return { proxy, port: await proxy.listen(0, "127.0.0.1") };
}

/** A client that has begun TLS, and the connection below it. */
async function overTls(port: number, options: ConnectionOptions): Promise<{ raw: Socket; client: TLSSocket }> {
  const raw = connectTcp({ port, host: "127.0.0.1" }).on("error", () => {});
  raw.write(sslRequest);
  await once(raw, "data");
  const [socket, relayed] = duplexPair();
  relayed.pipe(raw).pipe(relayed);
  const client = connect({ socket, servername: "ep-a.localhost", rejectUnauthorized: false, ...options });
  client.on("error", () => {});
  await once(client, "secureConnect");
  return { raw, client };
}

/** Asks for a new handshake within a connection; answers whether it was carried out. */
function renegotiated(socket: TLSSocket): Promise<boolean> {
  return new Promise((resolve) => {
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
    socket.renegotiate({ rejectUnauthorized: false }, (error) => resolve(error === null));
  });
}

it("a stranger gets one TLS handshake of a connection, and no further ones, each of which costs more than it", async () => {
  const { proxy, port } = await listening();
  const { client } = await overTls(port, { maxVersion: "TLSv1.2" });
  expect([client.getProtocol(), await renegotiated(client)]).toEqual(["TLSv1.2", false]);
  client.destroy();
  await proxy.close();
});

it.each(["TLSv1.2", "TLSv1.3"] as const)(
  "a client that would resume a session of %s means the compute that it names, as at the first time",
  async (maxVersion) => {
    const { proxy, port } = await listening();
    let session: Buffer | undefined;
    const answered = async () => {
      const { client } = await overTls(port, { maxVersion, session });
      client.on("session", (next: Buffer) => {
        session = next;
      });
      session = client.getSession();
      client.write(startupPacket(0x30000, new Map([["user", "ana"]])));
      const [answer] = await once(client, "data");
      client.destroy();
      return String(answer);
    };
    const refused = expect.stringContaining("nobody logs in at ep-a");
    expect([await answered(), await answered()]).toEqual([refused, refused]);
    await proxy.close();
  },
);

it("a stranger that changes its key of TLS more often than any client does is sent away", async () => {
  const { proxy, port } = await listening();
  const said = startupPacket(0x30000, new Map([["user", "ana"]]));
  const answer = async (changes: number) => {
    const raw = connectTcp({ port, host: "127.0.0.1" });
    raw.write(sslRequest);
    await once(raw, "data");
    return answerAfterKeyChanges(raw, "ep-a.localhost", { changes, said });
  };
  expect([await answer(20), await answer(21)]).toEqual([expect.stringContaining("nobody logs in at ep-a"), ""]);
  await proxy.close();
});

it("a client that breaks its TLS channel is gone, and nothing is kept of what it sends in the channel's place", async () => {
  const { proxy, port } = await listening();
  const { raw } = await overTls(port, {});
  // The client hears no alert, and stays.
  raw.unpipe();
  raw.resume();
  raw.write(Buffer.concat([Buffer.from([0x17, 3, 3, 0, 30]), Buffer.alloc(30)]));
  await once(raw, "close");
  expect(proxy.clients).toBe(0);
  await proxy.close();
});
