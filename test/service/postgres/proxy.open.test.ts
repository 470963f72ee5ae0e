import { once } from "node:events";
import { duplexPair } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { connect, createSecureContext, type TLSSocket } from "node:tls";
import { expect, it } from "vitest";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { open } from "../../../src/service/postgres/proxy/open.ts";
import { startupPacket } from "../../../src/service/postgres/session/messages.ts";

const { certificate: cert, key } = certificateFor(["localhost"], newAuthority());
const secure = createSecureContext({ cert, key });
const gss = Buffer.from([0, 0, 0, 8, 4, 210, 22, 48]);
const ssl = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Asks for encryption by GSS until there is no answer; answers how often that was refused. */
async function asked(times: number): Promise<{ refused: number; opened: unknown }> {
  const [client, server] = duplexPair();
  const opened = open(server, secure).catch((error: unknown) => error);
  let refused = 0;
  const over = opened.then(() => undefined);
  for (let sent = 0; sent < times; sent += 1) {
    const answer = new Promise((resolve) => client.once("data", resolve));
    client.write(gss);
    if ((await Promise.race([answer, over])) === undefined) break;
    refused += 1;
  }
  if (refused === times) client.write(startupPacket(0x30000, new Map([["user", "ana"]])));
  return { refused, opened: await opened };
}

it("a client that was refused encryption by GSS may begin without it", async () => {
  expect(await asked(1)).toMatchObject({ refused: 1, opened: { opening: { kind: "startup" }, secure: false } });
});

it("a client that asks for encryption by GSS again and again is sent away at the second time", async () => {
  const { refused, opened } = await asked(1000);
  expect([refused, String(opened)]).toEqual([1, expect.stringContaining("GSS encryption was refused already")]);
});

it("a client that goes on before it is told whether encryption by GSS begins is sent away", async () => {
  const [client, server] = duplexPair();
  server.on("error", () => {});
  const opened = open(server, secure).then(() => "served", String);
  client.write(Buffer.concat([gss, startupPacket(0x30000, new Map([["user", "ana"]]))]));
  expect(await Promise.race([opened, once(client, "data").then(String)])).toContain("bytes before GSS");
});

it("a client that asks for TLS after it was told to begin it is sent away", async () => {
  const [client, server] = duplexPair();
  server.on("error", () => {});
  const opened = open(server, secure).catch((error: unknown) => String(error));
  client.write(Buffer.concat([ssl, ssl]));
  expect(await opened).toContain("bytes before TLS");
});

it.each([
  ["at once", false],
  ["after it has asked", true],
])(
  "a client that begins TLS %s has all of it read over TLS, with the name that it gives the server",
  async (_, asks) => {
    const [client, server] = duplexPair();
    const opened = open(server, secure);
    if (asks) client.write(ssl);
    const said = asks ? String((await once(client, "data"))[0]) : "";
    const secured = connect({
      socket: client,
      servername: "ep-a.localhost",
      rejectUnauthorized: false,
      ALPNProtocols: ["postgresql"],
    });
    secured.on("error", () => {});
    await once(secured, "secureConnect");
    secured.write(Buffer.concat([startupPacket(0x30000, new Map([["user", "ana"]])), Buffer.from("more")]));
    const { client: channel, opening, secure: isSecure, serverName, rest } = await opened;
    expect(said).toBe(asks ? "S" : "");
    expect([opening.kind, isSecure, serverName, rest.toString(), secured.alpnProtocol]).toEqual([
      "startup",
      true,
      "ep-a.localhost",
      "more",
      "postgresql",
    ]);
    channel.write("answer");
    expect(String((await once(secured, "data"))[0])).toBe("answer");
    secured.destroy();
  },
);

/** A client that has begun TLS, and what the proxy finds in the end. */
async function overTls(): Promise<{ secured: TLSSocket; opened: Promise<unknown> }> {
  const [client, server] = duplexPair();
  const opened = open(server, secure).catch(String);
  client.write(ssl);
  await once(client, "data");
  const secured = connect({ socket: client, rejectUnauthorized: false }).on("error", () => {});
  await once(secured, "secureConnect");
  return { secured, opened };
}

it.each([
  ["asks for", ssl, "bytes before TLS"],
  ["begins", Buffer.from([0x16, 3, 1, 0, 1]), "TLS within TLS"],
])("a client that %s TLS within TLS is sent away", async (_, bytes, why) => {
  const { secured, opened } = await overTls();
  secured.write(bytes);
  expect(await opened).toContain(why);
  secured.destroy();
});

it("a client that asks for encryption by GSS within TLS is refused that over TLS", async () => {
  const { secured, opened } = await overTls();
  secured.write(gss);
  expect(String((await once(secured, "data"))[0])).toBe("N");
  secured.write(startupPacket(0x30000, new Map([["user", "ana"]])));
  expect(await opened).toMatchObject({ opening: { kind: "startup" }, secure: true });
  secured.destroy();
});

it("a client that asks for encryption by GSS within TLS again is sent away", async () => {
  const { secured, opened } = await overTls();
  secured.write(gss);
  await once(secured, "data");
  secured.write(gss);
  expect(await opened).toContain("GSS encryption was refused already");
  secured.destroy();
});

it("a client that asks for TLS, and then goes on in clear, is not served", async () => {
  const [client, server] = duplexPair();
  server.on("error", () => {});
  client.on("error", () => {});
  const opened = open(server, secure).then(() => "served", String);
  client.write(ssl);
  expect(String((await once(client, "data"))[0])).toBe("S");
  client.write(startupPacket(0x30000, new Map([["user", "ana"]])));
  expect(await opened).toContain("Rejection");
});

it("what a client sends over TLS in one piece is read in many turns of the loop", async () => {
  const [client, server] = duplexPair();
  const opened = open(server, secure);
  client.write(ssl);
  await once(client, "data");
  const [socket, relayed] = duplexPair();
  client.pipe(relayed);
  let send = (chunk: Buffer) => void client.write(chunk);
  relayed.on("data", (chunk: Buffer) => send(chunk));
  const secured = connect({ socket, rejectUnauthorized: false }).on("error", () => {});
  await once(secured, "secureConnect");
  secured.write(startupPacket(0x30000, new Map([["user", "ana"]])));
  const { client: reader } = await opened;
  const records: Buffer[] = [];
  send = (chunk) => void records.push(chunk);
  // One record each.
  for (let sent = 0; sent < 1000; sent += 1) await new Promise((resolve) => secured.write("x", resolve));
  const inTurns = [0];
  reader.on("data", (chunk: Buffer) => inTurns.push((inTurns.pop() ?? 0) + chunk.length)).resume();
  client.write(Buffer.concat(records));
  while (inTurns.reduce((sum, read) => sum + read, 0) < 1000) {
    await turn();
    inTurns.push(0);
  }
  expect(Math.max(...inTurns)).toBeLessThan(200);
  secured.destroy();
});
