import { createServer, type Server, type Socket } from "node:net";
import { join as path } from "node:path";
import { type Duplex, duplexPair } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { type CancelKeys, join } from "../../../src/service/postgres/proxy/join.ts";
import { authenticate, logIn } from "../../../src/service/postgres/proxy/login.ts";
import { Proxy } from "../../../src/service/postgres/proxy/proxy.ts";
import { cancelPacket } from "../../../src/service/postgres/proxy/startup.ts";
import { message, startupPacket } from "../../../src/service/postgres/session/messages.ts";
import { loggedOut } from "../../../src/service/postgres/session/rejection.ts";
import { parseVerifier, scramVerifier, unfitVerifier } from "../../../src/service/postgres/session/scram.ts";
import { mostDropped } from "../../../src/service/postgres/session/sql-client.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const version = 0x30002;
const parameters = new Map([["user", "ana"]]);
const verifier = parseVerifier(await scramVerifier("secret", Buffer.from("0123456789abcdef")));
const key = Buffer.from("its own.");
const welcome = Buffer.concat([message("R", "\0\0\0\0"), message("K", key), message("Z", "I")]);

let directory: ReturnType<typeof temporaryDirectory>;
let socket: string;
let server: Server;
/** The connection that the server has, and what has come in on it. */
let there: Promise<Socket>;
let heard: () => string;
let keys: CancelKeys;
/** How often the proxy gave this test's client's place back. */
let left: () => number;
let leave: () => void;
/** How many follow the end of the compute's server. */
let followers: () => number;
let follow: (follower: () => void) => () => void;
let serverEnds: () => void;
let logout: AbortController;
/** The proxy's ends of clients. */
let ends: Duplex[];
/** What the server says first. */
let greeting: Buffer;
beforeEach(async () => {
  directory = temporaryDirectory("join");
  socket = path(directory.path, "s");
  [keys, ends, greeting, logout] = [new Map(), [], welcome, new AbortController()];
  let count = 0;
  left = () => count;
  leave = () => {
    count += 1;
  };
  let following = 0;
  followers = () => following;
  follow = (follower) => {
    following += 1;
    serverEnds = follower;
    return () => {
      following -= 1;
    };
  };
  const arrived = Promise.withResolvers<Socket>();
  const chunks: Buffer[] = [];
  there = arrived.promise;
  heard = () => Buffer.concat(chunks).toString("latin1");
  server = createServer((connection) => {
    connection.on("error", () => {}).on("data", (chunk: Buffer) => chunks.push(chunk));
    connection.write(greeting);
    arrived.resolve(connection);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
});
afterEach(() => {
  for (const end of ends) end.destroy();
  server.close();
  directory.remove();
});

function admission(at = socket) {
  return {
    socket: () => Promise.resolve(at),
    verifierOf: (role: string) => Promise.resolve(verifier ?? unfitVerifier("", role)),
    end: () => Promise.resolve(),
    inTurn: <Result>(check: () => Promise<Result>) => check(),
    alone: <Result>(hash: () => Promise<Result>) => hash(),
    onServerEnd: follow,
    logout: logout.signal,
    enter: () => {},
    leave,
  };
}

/** A client that has logged in to the proxy and sent `rest` by then; what it is sent, and its other end. */
async function joined(
  rest = "",
  more: ReadonlyMap<string, string> = new Map(),
): Promise<{ client: Duplex; end: Duplex; said: () => string; clock: VirtualClock }> {
  const [client, end] = duplexPair();
  ends.push(end);
  const chunks: Buffer[] = [];
  client.on("data", (chunk: Buffer) => chunks.push(chunk));
  const clock = new VirtualClock();
  const joining = {
    admission: admission(),
    socket,
    parameters: new Map([...parameters, ...more]),
    version,
    keys,
    clock,
  };
  await join(end, { secret: { password: "secret" }, rest: Buffer.from(rest) }, joining);
  return { client, end, said: () => Buffer.concat(chunks).toString("latin1"), clock };
}

it("bytes that a client has sent with its login reach the server after its startup packet, before later ones", async () => {
  const { client } = await joined("first");
  client.write("second");
  const packet = startupPacket(version, parameters).toString("latin1");
  await expect.poll(heard).toBe(`${packet}firstsecond`);
});

it("a client is shown a key of the proxy's in place of the server's, which is known as long as the session", async () => {
  const { end, said } = await joined();
  const shown = Buffer.from(said(), "latin1").subarray(14, 22);
  expect([shown.equals(key), shown.readUInt8(0) < 128]).toEqual([false, true]);
  expect([...keys]).toEqual([[shown.toString("hex"), { socket, key }]]);
  expect(followers()).toBe(1);
  end.destroy();
  await expect.poll(() => [keys.size, left(), followers()]).toEqual([0, 1, 0]);
});

it("a server that ends its session ends the client's connection, with its last words before", async () => {
  const { client, said } = await joined();
  const ended = new Promise((resolve) => client.once("end", resolve));
  (await there).end(message("N", "Mbye\0\0"));
  await ended;
  expect([said().endsWith("Mbye\0\0"), left()]).toEqual([true, 1]);
});

it("nothing waits any more for a server that is gone with its compute, and whose client has heard so", async () => {
  const { client, clock } = await joined();
  client.once("end", () => client.end());
  serverEnds();
  expect(clock.pending).toBe(1);
  (await there).end();
  await expect.poll(() => [left(), clock.pending]).toEqual([1, 0]);
});

it("a client whose login holds no more is told so, and counts no more, though its server goes on with a statement", async () => {
  const { said } = await joined();
  (await there).allowHalfOpen = true;
  logout.abort();
  await expect.poll(left).toBe(1);
  expect(said()).toContain(loggedOut().message);
});

it("a client that reads a long answer late gets all of it", async () => {
  const { client, end } = await joined();
  client.pause();
  let taken = 0;
  client.on("data", ({ length }: Buffer) => {
    taken += length;
  });
  const answer = message("D", "\0".repeat(16 * 1024 ** 2));
  (await there).write(answer);
  await expect.poll(() => end.writableNeedDrain).toBe(true);
  client.resume();
  await expect.poll(() => taken).toBe(answer.length);
});

it("a client that reads nothing of a long answer, and leaves, counts no more once its server process has ended", async () => {
  const { client, end } = await joined();
  client.pause();
  (await there).write(Buffer.alloc(16 * 1024 ** 2));
  await expect.poll(() => end.writableNeedDrain).toBe(true);
  end.destroy();
  await expect.poll(left).toBe(1);
});

it("a client that ends its side of the connection, and takes nothing of a long answer, has left", async () => {
  const { client, end, clock } = await joined();
  client.pause();
  (await there).write(Buffer.alloc(16 * 1024 ** 2));
  await expect.poll(() => end.writableNeedDrain).toBe(true);
  client.end();
  await expect.poll(left).toBe(1);
  await clock.advance(10_000);
  await expect.poll(() => end.destroyed).toBe(true);
});

it("a client that leaves amid an answer without end counts no more, though its server would go on for ever", async () => {
  const { end } = await joined();
  const answering = await there;
  // As Postgres, which answers on where a client says no more.
  answering.allowHalfOpen = true;
  const piece = Buffer.alloc(65_536);
  let written = 0;
  const answer = () => {
    while (!answering.destroyed && written < 64 * mostDropped && answering.write(piece)) written += piece.length;
  };
  answering.on("drain", answer);
  end.destroy();
  answer();
  await expect.poll(() => [left(), answering.destroyed]).toEqual([1, true]);
  expect(written).toBeLessThan(64 * mostDropped);
});

it("a client that leaves while a short answer is on its way counts until its server process has ended", async () => {
  const { end } = await joined();
  end.destroy();
  const answering = await there;
  await new Promise((resolve) => answering.write(Buffer.alloc(mostDropped / 2), resolve));
  expect([left(), answering.destroyed]).toEqual([0, false]);
  answering.end();
  await expect.poll(left).toBe(1);
});

it("what a server says of the protocol's version before the login reaches the client too", async () => {
  const negotiated = message("v", "\0\0\0\0\0\0\0\0");
  greeting = Buffer.concat([negotiated, welcome]);
  const { said } = await joined();
  expect(said().startsWith(`${negotiated.toString("latin1")}R`)).toBe(true);
});

it("a login goes on after the server has named its version of the protocol, which the client is sent first", async () => {
  const [proxySide, serverSide] = duplexPair();
  ends.push(proxySide, serverSide);
  const negotiated = message("v", "\0\0\0\0\0\0\0\0");
  const said = logIn(proxySide, { password: "secret" });
  serverSide.write(negotiated);
  const claim = { role: "ana", verifier: verifier ?? unfitVerifier("", "ana"), binding: undefined };
  await authenticate(serverSide, Buffer.alloc(0), claim);
  serverSide.write(welcome);
  expect(await said).toEqual(Buffer.concat([negotiated, welcome]));
});

it("a command that a client which replicates may not give is answered with the reason, and does not reach the server", async () => {
  const create = message("Q", "CREATE_REPLICATION_SLOT one LOGICAL 'a/b'\0").toString("latin1");
  const { client, said } = await joined(create, new Map([["replication", "database"]]));
  await new Promise((resolve) => client.once("end", resolve));
  expect([said().includes("SFATAL") || said().includes("SERROR"), heard().includes("a/b")]).toEqual([true, false]);
  client.end();
  await expect.poll(left).toBe(1);
});

/** A proxy whose clients send packets over a WebSocket, where the password comes in clear, and what comes back. */
async function withClient(host = "ep-a.localhost", asked = 0x30000) {
  const errors: unknown[] = [];
  const proxy = new Proxy({
    clock: new VirtualClock(),
    certificate: certificateFor(["localhost"], newAuthority()),
    admit: () => Promise.resolve(admission()),
    onError: (error) => errors.push(error),
  });
  const send = (...packets: Buffer[]) => {
    const [client, end] = duplexPair();
    const chunks: Buffer[] = [];
    client.on("data", (chunk: Buffer) => chunks.push(chunk));
    const ended = new Promise((resolve) => client.once("end", resolve));
    proxy.serveWebSocket(end, host, "10.0.0.1");
    for (const packet of packets) client.write(packet);
    return { client, ended, said: () => Buffer.concat(chunks) };
  };
  const first = send(startupPacket(asked, new Map([["user", "ana"]])), message("p", "secret\0"));
  await expect.poll(() => first.said().includes("K")).toBe(true);
  const shown = first
    .said()
    .subarray(first.said().indexOf("K") + 5)
    .subarray(0, 8);
  return { proxy, send, first, shown, errors };
}

it("a client that asks the pooled host for a newer protocol is told that it gets the first, for which its pooler is asked", async () => {
  const { proxy, first } = await withClient("ep-a-pooler.localhost", 0x30002);
  expect(first.said().includes(message("v", "\0\x03\0\0\0\0\0\0"))).toBe(true);
  expect(heard()).toBe(
    startupPacket(0x30000, new Map(Object.entries({ user: "ana", database: "ana" }))).toString("latin1"),
  );
  first.client.destroy();
  await proxy.close().catch(() => {});
});

it("a hundred requests to end a query that come at once are two: one is passed on, and one more after it", async () => {
  const { proxy, send, first, shown, errors } = await withClient();
  const asked: Socket[] = [];
  server.close();
  // Like Postgres, it closes a connection when it has done what it was asked for.
  server = createServer({ allowHalfOpen: true }, (connection) => asked.push(connection.resume()));
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const clients = Array.from({ length: 100 }, () => send(cancelPacket(shown)));
  await expect.poll(() => asked.length).toBe(1);
  await Promise.all(clients.slice(2).map(({ ended }) => ended));
  expect(asked).toHaveLength(1);
  asked[0]?.end();
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.end();
  await Promise.all(clients.map(({ ended }) => ended));
  const last = send(cancelPacket(shown));
  await expect.poll(() => asked.length).toBe(3);
  asked[2]?.end();
  await last.ended;
  expect([errors, asked.length]).toEqual([[], 3]);
  first.client.destroy();
  await proxy.close().catch(() => {});
});

it("the end of a statement is asked for of no server that is gone, and the proxy goes on", async () => {
  const { proxy, send, first, shown, errors } = await withClient();
  server.close();
  await send(cancelPacket(shown)).ended;
  expect([errors, left()]).toEqual([[], 0]);
  first.client.destroy();
  await proxy.close().catch(() => {});
});

it("an error that nobody foresaw is reported, and its client learns only that there was one", async () => {
  const [errors, unforeseen] = [[] as unknown[], new TypeError("a mistake")];
  const proxy = new Proxy({
    clock: new VirtualClock(),
    certificate: certificateFor(["localhost"], newAuthority()),
    admit: () => Promise.reject(unforeseen),
    onError: (error) => errors.push(error),
  });
  const [client, end] = duplexPair();
  let said = "";
  client.on("data", (chunk: Buffer) => {
    said += chunk.toString("latin1");
  });
  proxy.serveWebSocket(end, "ep-a.localhost", "10.0.0.1");
  client.write(startupPacket(0x30000, new Map([["user", "ana"]])));
  client.write(message("p", "secret\0"));
  await new Promise((resolve) => client.once("end", resolve));
  expect([errors, said.includes("CXX000\0Minternal error of the proxy"), said.includes("mistake")]).toEqual([
    [unforeseen],
    true,
    false,
  ]);
});
