import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Duplex, duplexPair } from "node:stream";
import { serialize } from "pg-protocol/dist/index.js";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Admission } from "../../../src/service/postgres/proxy/admission.ts";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { logIn } from "../../../src/service/postgres/proxy/login.ts";
import { Proxy } from "../../../src/service/postgres/proxy/proxy.ts";
import { cancelPacket } from "../../../src/service/postgres/proxy/startup.ts";
import { startupPacket } from "../../../src/service/postgres/session/messages.ts";
import { Rejection } from "../../../src/service/postgres/session/rejection.ts";
import { parseVerifier, scramVerifier, unfitVerifier } from "../../../src/service/postgres/session/scram.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const certificate = certificateFor(["localhost"], newAuthority());
const verifier = parseVerifier(await scramVerifier("secret", Buffer.from("0123456789abcdef")));
/** AuthenticationOk and ReadyForQuery: this server takes every client at once. */
const letIn = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);
const startup = startupPacket(
  0x30000,
  new Map([
    ["user", "ana"],
    ["options", "endpoint=ep-a"],
  ]),
);

let directory: string;
let clock: VirtualClock;
let proxy: Proxy;
let port: number;
let server: Server;
/** The connections that the server behind the proxy has. */
let served: Socket[];
/** How often a client was reported to have left: of this test's proxy alone. */
let left: () => number;
let admit: () => Promise<Admission>;
/** The networks of the clients that were to be let in. */
let networks: Set<string | undefined>;
/** Says that the server of the compute has ended. */
let endCompute: () => void;
/** How many clients have logged in, and for how many there is room. */
let entered: number;
let places: number;
beforeEach(async () => {
  entered = 0;
  networks = new Set();
  places = Number.POSITIVE_INFINITY;
  directory = mkdtempSync(join(tmpdir(), "compute-operator-proxy-"));
  const socket = join(directory, "s");
  served = [];
  let count = 0;
  left = () => count;
  // Like Postgres, it does not end because its client has.
  server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (connection) => {
    connection.on("error", () => {});
    connection.write(letIn);
    served.push(connection);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  admit = () =>
    Promise.resolve({
      socket: () => Promise.resolve(socket),
      verifierOf: (role) => Promise.resolve(verifier ?? unfitVerifier("", role)),
      end: () => Promise.resolve(),
      inTurn: (check) => check(),
      alone: (hash) => hash(),
      onServerEnd: (follower) => {
        endCompute = follower;
        return () => {};
      },
      logout: new AbortController().signal,
      enter: () => {
        entered += 1;
        if (entered > places) throw new Rejection("53300", "sorry, too many clients already");
      },
      leave: () => {
        count += 1;
      },
    });
  clock = new VirtualClock();
  proxy = new Proxy({
    logins: new Shares(15),
    clock,
    certificate,
    admit: ({ from }) => {
      networks.add(from);
      return admit();
    },
    onError: (error) => {
      throw error;
    },
  });
  port = await proxy.listen(0, "127.0.0.1");
});
afterEach(async () => {
  for (const connection of served) connection.destroy();
  await proxy.close();
  server.close();
  rmSync(directory, { recursive: true });
});

async function client(): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return socket;
}

/** A client that has reached the server, and its connection there. */
async function joined(): Promise<{ one: Socket; there: Socket }> {
  const one = await client();
  one.write(startup);
  expect(await logIn(one, { password: "secret" })).toEqual(letIn);
  await expect.poll(() => served.length).toBe(1);
  const [there] = served;
  if (!there) throw new Error("nobody is served");
  return { one, there };
}

/** How many clients the proxy holds. */
function clients(): number {
  return proxy.clients;
}

function turnedAway(socket: Socket): Promise<void> {
  return new Promise((resolve) =>
    socket.once("end", () => {
      socket.destroy();
      resolve();
    }),
  );
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

it("an address has its share of connections that have not logged in, and those that have count no more", async () => {
  // Seven of fifteen: as many as are free beside them, and one.
  const silent = await Promise.all(Array.from({ length: 7 }, client));
  let said = "";
  const refused = async () => turnedAway((await client()).on("data", (chunk) => (said += chunk.toString())));
  await refused();
  expect(said).toMatch(/^E[^]*C53300\0Mtoo many connections of your address have not logged in yet/);
  expect(clients()).toBe(7);
  silent[0]?.destroy();
  await expect.poll(clients).toBe(6);
  const { one } = await joined();
  const next = await client();
  await refused();
  expect(clients()).toBe(8);
  for (const socket of [...silent, one, next]) socket.destroy();
});

it("closes a client that does not say what it wants", async () => {
  const accepted = vi.spyOn(clock, "after");
  const silent = await client();
  await expect.poll(() => accepted.mock.calls.length).toBe(1);
  silent.resume();
  const gone = new Promise((resolve) => silent.once("end", () => resolve("gone")));
  await clock.advance(30_000);
  expect(await gone).toBe("gone");
  silent.destroy();
});

it("a client that is asked for its password, or to prove it, and says nothing is closed, and its place given back", async () => {
  const [asked, end] = duplexPair();
  proxy.serveWebSocket(end, "ep-a.localhost", "10.0.0.1");
  const proving = await client();
  for (const one of [asked, proving]) one.write(startup);
  await Promise.all([asked, proving].map((one) => new Promise((resolve) => one.once("data", resolve))));
  expect([...networks]).toEqual(["127.0.0.1"]);
  await clock.advance(29_000);
  expect([clients(), left()]).toEqual([2, 0]);
  await clock.advance(1000);
  await expect.poll(() => [clients(), left(), clock.pending]).toEqual([0, 1, 0]);
  proving.destroy();
});

it("offers a client without TLS no login that is bound to a certificate: libpq refuses such an offer", async () => {
  const one = await client();
  one.write(startup);
  const asked = await new Promise<Buffer>((resolve) => one.once("data", resolve));
  expect(asked.subarray(9).toString()).toBe("SCRAM-SHA-256\0\0");
  one.destroy();
});

it("counts a client when it has logged in, and refuses it then where there is no room", async () => {
  places = 1;
  const strangers = await Promise.all([client(), client(), client()]);
  for (const one of strangers) one.write(startup);
  await Promise.all(strangers.map((one) => new Promise((resolve) => one.once("data", resolve))));
  expect(entered).toBe(0);
  await joined();
  const late = await client();
  late.write(startup);
  expect((await logIn(late, { password: "secret" })).toString()).toContain("C53300");
  expect(entered).toBe(2);
  expect(served).toHaveLength(1);
  await expect.poll(left).toBe(1);
  for (const one of strangers) one.destroy();
});

it("a client that sends its password in clear proves it before it counts, and before the server sees it", async () => {
  const release = vi.fn<() => void>();
  const answerTo = async (password: string) => {
    const [one, end] = duplexPair();
    proxy.serveWebSocket(end, "ep-a.localhost", "10.0.0.1", release);
    one.write(Buffer.concat([startup, serialize.password(password)]));
    let received = "";
    one.on("data", (chunk: Buffer) => {
      received += chunk.toString("latin1");
    });
    await expect.poll(() => received.length).toBeGreaterThan(9);
    one.destroy();
    return received.slice(9);
  };
  expect(await answerTo("wrong")).toContain("C28P01");
  expect([served.length, entered, release.mock.calls.length]).toEqual([0, 0, 1]);
  await expect.poll(left).toBe(1);
  expect(await answerTo("secret")).toBe(letIn.toString("latin1"));
  expect([...networks]).toEqual(["10.0.0.1"]);
  expect([served.length, entered]).toEqual([1, 1]);
  expect(release).toHaveBeenCalled();
});

it("a client that leaves while its compute wakes counts until it is given up, also one of a WebSocket", async () => {
  const woken = Promise.withResolvers<Admission>();
  const given = admit;
  let asked = 0;
  admit = () => {
    asked += 1;
    return woken.promise;
  };
  const release = vi.fn<() => void>();
  const [one, end] = duplexPair();
  proxy.serveWebSocket(end, "ep-a.localhost", "10.0.0.1", release);
  one.write(Buffer.concat([startup, serialize.password("secret")]));
  const others = await Promise.all(Array.from({ length: 7 }, client));
  for (const other of others) other.write(startup);
  await expect.poll(() => asked).toBe(8);
  for (const other of [end, ...others]) other.destroy();
  await expect.poll(clients).toBe(0);
  await turnedAway((await client()).resume());
  expect(release).not.toHaveBeenCalled();
  woken.resolve(await given());
  await expect.poll(() => release.mock.calls.length).toBe(1);
  await expect.poll(left).toBe(8);
  (await client()).write(startup);
  await expect.poll(() => asked).toBe(9);
  expect(entered).toBe(0);
});

it("a client that leaves as its password is found right does not count, and its server is not reached", async () => {
  const given = await admit();
  const [one, end] = duplexPair();
  const alone: Admission["alone"] = async (hash) => {
    const key = await hash();
    end.destroy();
    return key;
  };
  admit = () => Promise.resolve({ ...given, alone });
  proxy.serveWebSocket(end, "ep-a.localhost", "10.0.0.1");
  one.write(Buffer.concat([startup, serialize.password("secret")]));
  await expect.poll(left).toBe(1);
  expect([entered, served.length]).toEqual([0, 0]);
});

it("a client that has logged in has all the time that it wants", async () => {
  const { one, there } = await joined();
  expect(clock.pending).toBe(0);
  await clock.advance(600_000);
  const heard = new Promise((resolve) => there.once("data", (chunk) => resolve(String(chunk))));
  there.resume();
  one.write("still here");
  expect(await heard).toContain("still here");
  one.destroy();
});

it("a client that replicates and asks for what it may not is told so, and its server process ends", async () => {
  const one = await client();
  const parameters = new Map([
    ["user", "ana"],
    ["options", "endpoint=ep-a"],
    ["replication", "database"],
  ]);
  one.write(startupPacket(0x30000, parameters));
  await logIn(one, { password: "secret" });
  await expect.poll(() => served.length).toBe(1);
  const [there] = served;
  let heard = "";
  const ended = new Promise((resolve) => there?.once("end", () => resolve("ended")));
  there?.on("data", (chunk) => (heard += String(chunk))).resume();
  const answer = new Promise<string>((resolve) => one.once("data", (chunk) => resolve(String(chunk))));
  one.resume().write(serialize.query("BASE_BACKUP"));
  expect(await answer).toContain("C42501");
  // The client itself stays: it is the server process that would be left awake.
  expect(await ended).toBe("ended");
  expect(heard).not.toContain("BASE_BACKUP");
  there?.end();
  await expect.poll(left).toBe(1);
  one.destroy();
});

it.each(["end", "destroy"] as const)(
  "tells the server that a client is gone (%s), and counts it until its server process has ended",
  async (how) => {
    const { one, there } = await joined();
    const ended = new Promise((resolve) => there.once("end", () => resolve("ended")));
    there.resume();
    one[how]();
    expect(await ended).toBe("ended");
    expect(left()).toBe(0);
    there.end();
    await expect.poll(left).toBe(1);
  },
);

it("lets go of a client that leaves while its compute wakes", async () => {
  let awake: (admission: Admission) => void = () => {};
  const asked = vi.fn<() => void>();
  const whole = await admit();
  admit = () => {
    asked();
    return new Promise((resolve) => {
      awake = resolve;
    });
  };
  const one = await client();
  one.write(startup);
  await expect.poll(() => asked.mock.calls.length).toBe(1);
  one.resetAndDestroy();
  await expect.poll(() => clients()).toBe(0);
  awake(whole);
  await expect.poll(left).toBe(1);
  expect(served).toHaveLength(0);
});

it.each([
  ["before its compute is awake", (there: Duplex) => there.destroy()],
  [
    "with the end of its password, before its compute is awake",
    (there: Duplex) => void there.end(() => there.destroy()),
  ],
])("a client behind a WebSocket that has sent its password and leaves %s reaches no server", async (_, leave) => {
  const awake = Promise.withResolvers<Admission>();
  const asked = vi.fn<() => void>();
  const whole = await admit();
  admit = () => {
    asked();
    return awake.promise;
  };
  const [one, there] = duplexPair();
  proxy.serveWebSocket(there, "ep-a.localhost", "10.0.0.1");
  one.resume().write(Buffer.concat([startup, serialize.password("secret")]));
  await expect.poll(() => asked.mock.calls.length).toBe(1);
  leave(there);
  await expect.poll(() => clients()).toBe(0);
  awake.resolve(whole);
  await expect.poll(left).toBe(1);
  expect([served.length, entered]).toEqual([0, 0]);
});

it("tells a client that has logged in that its server takes nobody", async () => {
  server.removeAllListeners("connection").on("connection", (connection: Socket) => connection.destroy());
  const one = await client();
  one.write(startup);
  expect(String(await logIn(one, { password: "secret" }))).toContain("C08006\0Mthe connection was closed");
  expect(left()).toBe(1);
  one.destroy();
});

it("gives a client's place back where the server's socket is gone, and ends the client", async () => {
  const whole = await admit();
  admit = () => Promise.resolve({ ...whole, socket: async () => join(directory, "gone") });
  const one = await client();
  const ended = closed(one);
  one.write(startup);
  expect(String(await logIn(one, { password: "secret" }))).toContain("C08006\0M");
  one.end();
  await ended;
  await expect.poll(left).toBe(1);
});

it("gives a client's place back where its server breaks the connection off, and ends the client", async () => {
  const { one, there } = await joined();
  const ended = new Promise((resolve) => one.once("end", () => resolve("ended")));
  one.resume();
  // What the server has not read makes its end a reset.
  there.destroy();
  expect(await ended).toBe("ended");
  one.end();
  await expect.poll(left).toBe(1);
});

it("a session that ends with its compute leaves nothing waiting", async () => {
  const { one, there } = await joined();
  one.resume().once("end", () => one.end());
  endCompute();
  there.end();
  await expect.poll(() => [left(), clients(), clock.pending]).toEqual([1, 0, 0]);
});

it("the proxy sends a small answer at once, and does not wait for more to go with it", async () => {
  const set = vi.spyOn(Socket.prototype, "setNoDelay");
  const { one } = await joined();
  expect(set.mock.calls).toEqual([[true]]);
  set.mockRestore();
  one.destroy();
});

it("a client that reads nothing counts no more once its compute's server has ended, and is closed", async () => {
  const { one, there } = await joined();
  one.pause();
  for (let written = 0; written < 20; written += 1) there.write(Buffer.alloc(1024 ** 2));
  const still = async () => {
    const before = there.bytesWritten - there.writableLength;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return before > 0 && before === there.bytesWritten - there.writableLength;
  };
  await expect.poll(still).toBe(true);
  const timers = clock.pending;
  there.destroy();
  endCompute();
  expect([left(), clock.pending]).toEqual([0, timers + 1]);
  await clock.advance(10_000);
  await expect.poll(left).toBe(1);
  await clock.advance(10_000);
  await expect.poll(clients).toBe(0);
  expect(clock.pending).toBe(0);
  one.destroy();
});

const key = Buffer.from("its own.");
const greeting = Buffer.concat([letIn.subarray(0, 9), Buffer.from([0x4b, 0, 0, 0, 12]), key, letIn.subarray(9)]);

it("cancels what a client runs, and nothing of another client once its server process has ended", async () => {
  const heard: Buffer[] = [];
  server.removeAllListeners("connection").on("connection", (connection: Socket) => {
    served.push(connection);
    connection.once("data", (chunk) => heard.push(chunk)).once("end", () => connection.end());
    if (served.length > 1) connection.once("data", () => connection.end());
    connection.resume().write(greeting);
  });
  const one = await client();
  one.write(startup);
  const shown = await logIn(one, { password: "secret" });
  const cancel = async () => {
    const other = await client();
    const gone = turnedAway(other);
    let answer = "";
    // As libpq, which says no more, and reads until the connection has ended.
    other.on("data", (chunk) => (answer += String(chunk))).write(cancelPacket(shown.subarray(14, 22)));
    await gone;
    expect(answer).toBe("");
  };
  await cancel();
  expect(heard).toEqual([expect.anything(), cancelPacket(key)]);
  served[0]?.destroy();
  await expect.poll(left).toBe(1);
  await cancel();
  expect(heard).toHaveLength(2);
  one.destroy();
});

it("a request to cancel that comes while another is under way is passed on after it, and stands for all that follow", async () => {
  const asking: Socket[] = [];
  server.removeAllListeners("connection").on("connection", (connection: Socket) => {
    served.push(connection);
    if (served.length === 1) connection.resume().write(greeting);
    else connection.once("data", () => asking.push(connection)).resume();
  });
  const one = await client();
  one.write(startup);
  const shown = await logIn(one, { password: "secret" });
  const others = await Promise.all(["first", "second", "third"].map(() => client()));
  const gone = others.map((other) => closed(other.resume()));
  for (const other of others) other.end(cancelPacket(shown.subarray(14, 22)));
  await Promise.race(gone);
  for (const count of [1, 2]) {
    await expect.poll(() => asking.length).toBe(count);
    asking.at(-1)?.end();
  }
  await Promise.all(gone);
  expect(asking).toHaveLength(2);
  one.destroy();
});

it("takes from a server no faster than its client reads", async () => {
  const { one, there } = await joined();
  one.pause();
  // Some messages of a megabyte, more than all sockets on the way hold.
  const message = Buffer.concat([Buffer.from([0x44, 0, 0x10, 0, 4]), Buffer.alloc(1024 ** 2)]);
  const total = 64 * message.length;
  let written = 0;
  const write = () => {
    while (written < total) {
      written += message.length;
      if (!there.write(message)) return;
    }
    there.end();
  };
  there.on("drain", write);
  write();
  let before = -1;
  await expect
    .poll(
      () => {
        const still = there.bytesWritten - there.writableLength === before;
        before = there.bytesWritten - there.writableLength;
        return still;
      },
      { interval: 200, timeout: 20_000 },
    )
    .toBe(true);
  expect(before).toBeLessThan(total / 2);
  let received = 0;
  one.on("data", (chunk: Buffer) => {
    received += chunk.length;
  });
  const gone = closed(one);
  one.once("end", () => one.end());
  one.resume();
  await gone;
  expect(received).toBe(total);
});
