import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeEach, expect, it } from "vitest";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { endClient } from "../../../src/service/postgres/proxy/end-client.ts";
import { logIn } from "../../../src/service/postgres/proxy/login.ts";
import { Proxy } from "../../../src/service/postgres/proxy/proxy.ts";
import { cancelPacket } from "../../../src/service/postgres/proxy/startup.ts";
import { message, startupPacket } from "../../../src/service/postgres/session/messages.ts";
import { Rejection } from "../../../src/service/postgres/session/rejection.ts";
import { parseVerifier, scramVerifier, unfitVerifier } from "../../../src/service/postgres/session/scram.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const certificate = certificateFor(["localhost"], newAuthority());
const verifier = parseVerifier(await scramVerifier("secret", Buffer.from("0123456789abcdef")));
const letIn = Buffer.concat([message("R", "\0\0\0\0"), message("Z", "I")]);
const parameters = new Map([
  ["user", "ana"],
  ["options", "endpoint=ep-a"],
]);
const startup = startupPacket(0x30000, parameters);
/** No version of the protocol. */
const malformed = Buffer.from([0, 0, 0, 8, 0, 0, 0, 1]);
const terminate = message("X", "");

let directory: ReturnType<typeof temporaryDirectory>;
let clock: VirtualClock;
let proxy: Proxy;
let logins: Shares;
let port: number;
let server: Server;
let sockets: Socket[];
/** How many connections the server has had, and whether it lets them in. */
let served: number;
let letsIn: boolean;
let hasRoom: boolean;
let logout: AbortController;
beforeEach(async () => {
  [served, letsIn, hasRoom, logout] = [0, true, true, new AbortController()];
  directory = temporaryDirectory("end-client");
  const path = `${directory.path}/s`;
  sockets = [];
  // Like Postgres, it ends a session that a client terminates.
  server = createServer((connection) => {
    connection
      .on("error", () => {})
      .on("data", (chunk: Buffer) => {
        if (chunk.includes(terminate)) connection.end();
      });
    served += 1;
    if (letsIn) connection.write(letIn);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  clock = new VirtualClock();
  logins = new Shares(1000);
  proxy = new Proxy({
    clock,
    certificate,
    logins,
    admit: () =>
      Promise.resolve({
        socket: () => Promise.resolve(path),
        verifierOf: (role) => Promise.resolve(verifier ?? unfitVerifier("", role)),
        end: () => Promise.resolve(),
        inTurn: (check) => check(),
        alone: (hash) => hash(),
        onServerEnd: () => () => {},
        logout: logout.signal,
        enter: () => {
          if (!hasRoom) throw new Rejection("53300", "sorry, too many clients already");
        },
        leave: () => {},
      }),
    onError: (error) => {
      throw error;
    },
  });
  port = await proxy.listen(0, "127.0.0.1");
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await proxy.close();
  server.close();
  directory.remove();
});

/** A client that does not close its side because the proxy has. */
async function client(): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => {});
  sockets.push(socket);
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return socket;
}

function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.resume().once("end", () => resolve()));
}

async function overTls(): Promise<Socket> {
  const raw = await client();
  raw.write(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
  await new Promise((resolve) => raw.once("data", resolve));
  const secure = connectTls({ socket: raw, rejectUnauthorized: false }).on("error", () => {});
  await new Promise((resolve) => secure.once("secureConnect", resolve));
  return secure;
}

/** Ways to the end of a connection: each resolves when the proxy has ended its side. */
const ways: readonly [string, () => Promise<Socket>][] = [
  [
    "whose first packet is malformed",
    async () => {
      const one = await client();
      one.write(malformed);
      await ended(one);
      return one;
    },
  ],
  [
    "whose first packet over TLS is malformed",
    async () => {
      const one = await overTls();
      one.write(malformed);
      const said = once(one, "data");
      await ended(one);
      expect(String(await said)).toContain("C0A000");
      return one;
    },
  ],
  [
    "with a wrong password",
    async () => {
      const one = await client();
      one.write(startup);
      expect(String(await logIn(one, { password: "wrong" }))).toContain("C28P01");
      await ended(one);
      return one;
    },
  ],
  [
    "that has cancelled a statement",
    async () => {
      const one = await client();
      one.write(cancelPacket(Buffer.from("whatever")));
      await ended(one);
      return one;
    },
  ],
  [
    "that has logged in and terminates its session",
    async () => {
      const one = await client();
      one.write(startup);
      expect(await logIn(one, { password: "secret" })).toEqual(letIn);
      one.write(terminate);
      await ended(one);
      return one;
    },
  ],
  [
    "that is logged out while its server lets it in",
    async () => {
      letsIn = false;
      const one = await client();
      one.write(startup);
      const said = logIn(one, { password: "secret" });
      await expect.poll(() => served).toBe(1);
      logout.abort();
      expect(String(await said)).toContain("C57P01");
      await ended(one);
      return one;
    },
  ],
  [
    "that replicates and was refused a command",
    async () => {
      const one = await client();
      one.write(startupPacket(0x30000, new Map(parameters).set("replication", "database")));
      expect(await logIn(one, { password: "secret" })).toEqual(letIn);
      one.write(message("Q", "BASE_BACKUP\0"));
      const said = once(one, "data");
      await ended(one);
      expect(String(await said)).toContain("C42501");
      return one;
    },
  ],
];

it.each(ways)("the connection of a client %s is closed with it, whatever it sends on", async (_, arrive) => {
  const one = await arrive();
  one.end(terminate);
  await expect.poll(() => [proxy.clients, logins.all, clock.pending]).toEqual([0, 0, 0]);
});

it("a client is ended once: what comes later is neither sent nor waited for", async () => {
  const [one, other] = duplexPair();
  endClient(one, clock, Buffer.from("first"));
  endClient(one, clock, Buffer.from("second"));
  expect(clock.pending).toBe(1);
  const read = await other.toArray();
  expect([Buffer.concat(read).toString(), one.errored]).toEqual(["first", null]);
  one.destroy();
  await once(one, "close");
  expect(clock.pending).toBe(0);
});

it("a client that is gone before its end leaves nothing waiting", async () => {
  const one = await client();
  one.write(startup);
  await new Promise((resolve) => one.once("data", resolve));
  one.destroy();
  await expect.poll(() => [proxy.clients, logins.all, clock.pending]).toEqual([0, 0, 0]);
});

it.each(ways)("the connection of a client %s is closed after a while, where the client stays", async (_, arrive) => {
  const one = await arrive();
  await clock.advance(9000);
  expect(proxy.clients).toBe(1);
  one.write(terminate);
  await clock.advance(1000);
  await expect.poll(() => [proxy.clients, logins.all, clock.pending]).toEqual([0, 0, 0]);
});

it("a client for which there is no room counts as one that has not logged in until its connection is closed", async () => {
  hasRoom = false;
  const one = await client();
  one.write(startup);
  expect(String(await logIn(one, { password: "secret" }))).toContain("C53300");
  await ended(one);
  expect(logins.all).toBe(1);
  one.destroy();
  await expect.poll(() => logins.all).toBe(0);
});

it("the connection of a client that breaks TLS is closed", async () => {
  await overTls();
  sockets[0]?.write("this is no TLS");
  await expect.poll(() => [proxy.clients, logins.all, clock.pending]).toEqual([0, 0, 0]);
});

it("the connection of a client that begins TLS, and does not speak it, is closed", async () => {
  const one = await client();
  one.write(Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
  await once(one, "data");
  one.write("this is no TLS");
  await expect.poll(() => [proxy.clients, logins.all, clock.pending]).toEqual([0, 0, 0]);
});
