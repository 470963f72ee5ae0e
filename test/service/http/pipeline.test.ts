import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { connect, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import type { ServiceReply } from "../../../src/service/http/message.ts";
import { Pipelines, takeApart } from "../../../src/service/http/pipeline.ts";
import type { SqlAccess } from "../../../src/service/http/sql-access.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { ListeningShop } from "../support/listening.ts";
import { Wire } from "../support/wire.ts";

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

const noSql: SqlAccess = {
  answer: () => Promise.reject(new Error("not asked")),
  refresh: () => Promise.resolve(),
  upgrade: () => {},
};

/** A client of a server that answers its requests in line, each as soon as the test does; the clock stands still. */
async function lined(): Promise<{ clock: VirtualClock; begun: ServerResponse[]; socket: Socket }> {
  const clock = new VirtualClock();
  const pipelines = new Pipelines(clock);
  const begun: ServerResponse[] = [];
  const server = createServer((incoming, outgoing) => pipelines.take(incoming, outgoing, () => begun.push(outgoing)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const socket = connect(typeof address === "object" && address ? address.port : 0, "127.0.0.1").resume();
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  return { clock, begun, socket };
}

it("requests that a client sends ahead are answered one by one, and those of others in between", async () => {
  await using shop = await ListeningShop.start();
  const [ahead, other] = [new Wire(shop), new Wire(shop)];
  await Promise.all([once(ahead.socket, "connect"), once(other.socket, "connect")]);
  ahead.send(get("/healthz").repeat(20));
  other.send(get("/api/v2/auth"));
  await expect.poll(() => ahead.received.split("HTTP/1.1 200").length - 1).toBe(20);
  expect(shop.sent).toHaveLength(21);
  expect(shop.sent.findIndex(({ path }) => path === "/api/v2/auth")).toBeLessThan(19);
  for (const wire of [ahead, other]) wire.socket.destroy();
});

it("few of thousands of requests that come at once are taken apart once their connection has ended", async () => {
  let taken = 0;
  const server = createServer((incoming) => {
    taken += 1;
    incoming.socket.destroy();
  });
  server.on("connection", takeApart);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const socket = connect(typeof address === "object" && address ? address.port : 0, "127.0.0.1").on("error", () => {});
  socket.write(get("/").repeat(1500));
  await once(socket, "close");
  server.close();
  expect(taken).toBeGreaterThan(0);
  expect(taken).toBeLessThan(100);
});

it.each([
  ["one line, however long,", `${"x".repeat(100_000)}\r\n`, 1],
  ["sixty lines", "x".repeat(100).concat("\r\n").repeat(60), 1],
  ["sixty-one lines", "x".repeat(100).concat("\r\n").repeat(61), 4],
])("a chunk of %s is taken apart in pieces where it has many lines, and as a whole otherwise", (_, text, pieces) => {
  const socket = new Socket();
  const taken: Buffer[] = [];
  socket.push = (chunk: Buffer) => taken.push(chunk) > 0;
  takeApart(socket);
  socket.push(Buffer.from(text));
  expect([taken.length, Buffer.concat(taken).toString() === text]).toEqual([pieces, true]);
  socket.destroy();
});

it("no piece is taken of a chunk of many requests once one of them has ended the connection", () => {
  const socket = new Socket();
  let taken = 0;
  socket.push = () => {
    taken += 1;
    socket.destroy();
    return false;
  };
  takeApart(socket);
  socket.push(Buffer.from(get("/").repeat(1500)));
  expect(taken).toBe(1);
});

it.each([
  ["expect what the service does not know", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\n\r\n", 200],
  ["name no host", "GET /healthz HTTP/1.1\r\n\r\n", 400],
])(
  "requests that %s are answered in line too, and a thousand of them end their connection",
  async (_, text, status) => {
    await using shop = await ListeningShop.start();
    const one = new Wire(shop);
    one.send(text);
    expect(await one.answer()).toContain(`HTTP/1.1 ${status} `);
    one.socket.destroy();
    const many = new Wire(shop);
    many.send(text.repeat(1000));
    await many.ended;
    expect(many.received.split("HTTP/1.1 ").length - 1).toBeLessThan(21);
  },
);

it("requests with long headers stay with their client until those before them are answered", async () => {
  const answered = Promise.withResolvers<ServiceReply>();
  await using shop = await ListeningShop.start({}, {}, { ...noSql, answer: () => answered.promise });
  const wire = new Wire(shop);
  wire.send("POST /sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  const long = `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"x".repeat(15_000)}\r\n\r\n`;
  wire.send(long.repeat(100));
  await sleep(300);
  expect(wire.socket.destroyed).toBe(false);
  answered.resolve({ status: 200, headers: {} });
  await expect.poll(() => wire.received.split("HTTP/1.1 200").length - 1).toBe(101);
  wire.socket.destroy();
});

it("a connection with thousands of requests sent ahead is ended, and they are not carried out", async () => {
  await using shop = await ListeningShop.start();
  const wire = new Wire(shop);
  wire.send(get("/healthz").repeat(5000));
  await wire.ended;
  expect(shop.sent.length).toBeLessThan(22);
});

it.each([
  [21, false],
  [22, true],
])("a connection that has sent %d requests, of which the first is not answered, is ended: %s", async (count, ends) => {
  const { clock, begun, socket } = await lined();
  socket.write(get("/one").repeat(count));
  const state = () => [begun.length, begun[0]?.req.socket.destroyed, clock.pending];
  await expect.poll(state).toEqual([1, ends, ends ? 0 : 1]);
});

it("a client that leaves while its next request waits is noticed after a minute, as nothing of it is read until then", async () => {
  const { clock, begun, socket } = await lined();
  socket.write(get("/one") + get("/two") + get("/three"));
  await expect.poll(() => [begun.length, clock.pending]).toEqual([1, 1]);
  begun[0]?.end("answered");
  const second = async () => {
    await clock.advance(0);
    return begun.length;
  };
  await expect.poll(second).toBe(2);
  // The time of the third begins when its turn is next.
  await clock.advance(59_000);
  socket.destroy();
  expect(begun[1]?.destroyed).toBe(false);
  await clock.advance(1000);
  await expect.poll(() => [begun[1]?.destroyed, clock.pending]).toEqual([true, 0]);
});

it("a client has all the time that it wants for the last of its requests", async () => {
  const { clock, begun, socket } = await lined();
  socket.write(get("/one") + get("/two"));
  await expect.poll(() => begun.length).toBe(1);
  begun[0]?.end("answered");
  const second = async () => {
    await clock.advance(0);
    return begun.length;
  };
  await expect.poll(second).toBe(2);
  await clock.advance(600_000);
  expect([begun[1]?.destroyed, clock.pending]).toEqual([false, 0]);
});

it("a client that is gone has none of its waiting requests begun, and nothing waits for it", async () => {
  const { clock, begun, socket } = await lined();
  socket.write(get("/one") + get("/two") + get("/three"));
  await expect.poll(() => [begun.length, clock.pending]).toEqual([1, 1]);
  begun[0]?.req.socket.destroy();
  await expect.poll(() => clock.pending).toBe(0);
  expect(begun.length).toBe(1);
});

it("a client that goes between two of its requests has the second not begun", async () => {
  const { clock, begun, socket } = await lined();
  socket.write(get("/one") + get("/two") + get("/three"));
  await expect.poll(() => [begun.length, clock.pending]).toEqual([1, 1]);
  const [first] = begun;
  const there = first?.req.socket;
  const over = new Promise((resolve) => first?.once("close", resolve));
  first?.end("answered");
  await over;
  there?.destroy();
  await clock.advance(0);
  expect([begun.length, clock.pending]).toEqual([1, 0]);
});
