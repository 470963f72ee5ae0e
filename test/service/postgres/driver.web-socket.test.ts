import { once } from "node:events";
import { createServer } from "node:http";
import { connect, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { expect, it, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { FrameReader } from "../../../src/service/postgres/driver/frames.ts";
import { acceptWebSocket } from "../../../src/service/postgres/driver/web-socket.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

/** A server of WebSockets, which hands each to `serve`; answers its port. */
async function listening(
  serve: (stream: Duplex) => void,
  arrived: (socket: Socket) => unknown = () => undefined,
): Promise<number> {
  const server = createServer().on("upgrade", (incoming, socket, head) => {
    arrived(incoming.socket);
    const stream = acceptWebSocket(incoming, socket, head, new VirtualClock());
    if (stream) serve(stream);
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

function echo(stream: Duplex): void {
  stream.on("error", () => {}).on("data", (chunk: Buffer) => stream.write(Buffer.from(chunk)));
}

/** A connection that has sent a handshake, and reads frames as bytes. */
async function raw(
  port: number,
  lines: readonly string[] = handshake,
  { allowHalfOpen = false, version = "1.1" } = {},
): Promise<{ socket: Socket; received: Buffer[] }> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen }).on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  socket.write([`GET /v2 HTTP/${version}`, "host: localhost", ...lines, "", ""].join("\r\n"));
  await once(socket, "data");
  return { socket, received };
}

const handshake = [
  "connection: Upgrade",
  "upgrade: websocket",
  "sec-websocket-version: 13",
  "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
];

it("the word for the protocol is taken in any case, as HTTP has it", async () => {
  const lines = handshake.map((line) => line.replace("websocket", "WebSocket"));
  const { received } = await raw(await listening(echo), lines);
  expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1.1 101 /);
});

it("the content of messages passes both ways, however they are cut into frames", async () => {
  const client = new WebSocket(`ws://127.0.0.1:${await listening(echo)}/v2`);
  await once(client, "open");
  const received: Buffer[] = [];
  client.on("message", (data: Buffer) => received.push(data));
  const sent = [0, 1, 125, 126, 65_535, 65_536, 1_000_000].map((length, n) => Buffer.alloc(length, n + 1));
  for (const message of sent) {
    client.send(message.subarray(0, message.length / 2), { fin: false });
    client.ping("are you there");
    client.send(message.subarray(message.length / 2), { fin: true });
  }
  client.send("as text");
  const all = Buffer.concat([...sent, Buffer.from("as text")]);
  await expect.poll(() => Buffer.concat(received).length).toBe(all.length);
  expect(Buffer.concat(received).equals(all)).toBe(true);
  client.ping("the last");
  const [pong] = await once(client, "pong");
  expect(String(pong)).toMatch(/^(are you there|the last)$/);
  client.close();
  expect((await once(client, "close"))[0]).toBe(1000);
});

it("a client that ends its connection without a word has left: the stream ends too", async () => {
  const streams: Duplex[] = [];
  const { socket } = await raw(await listening((stream) => streams.push(stream)));
  socket.end();
  await expect.poll(() => streams.map(({ destroyed }) => destroyed)).toEqual([true]);
});

it("a client that closes has left, though its connection stays, and nothing that it sends on is read", async () => {
  const read: string[] = [];
  const streams: Duplex[] = [];
  const { socket, received } = await raw(
    await listening((stream) => streams.push(stream.on("data", (chunk: Buffer) => read.push(chunk.toString())))),
    handshake,
    { allowHalfOpen: true },
  );
  const frame = (opcode: number, text: string) =>
    Buffer.from([opcode, 0x80 + text.length, 0, 0, 0, 0, ...Buffer.from(text)]);
  const [close, late, ping] = [frame(0x88, ""), frame(0x82, "late"), frame(0x89, "late")];
  const ended = once(socket, "end");
  socket.write(Buffer.concat([frame(0x82, "last"), close, late, ping, close]));
  await expect.poll(() => streams.map(({ readableEnded }) => readableEnded)).toEqual([true]);
  socket.write(Buffer.concat([late, ping]));
  await ended;
  expect([read, streams.map(({ destroyed, errored }) => [destroyed, errored])]).toEqual([["last"], [[false, null]]]);
  expect(Buffer.concat(received).subarray(-4)).toEqual(Buffer.from([0x88, 2, 0x03, 0xe8]));
});

it("a client that pings on and on, and takes no pong, gets no more of them than its connection holds", async () => {
  const connections: Socket[] = [];
  await raw(await listening(echo, (socket) => connections.push(socket)));
  const ping = Buffer.alloc(131);
  ping.set([0x89, 0xfd]);
  for (const connection of connections) {
    connection.cork();
    for (let times = 0; times < 10_000; times += 1) connection.emit("data", ping);
    expect(connection.writableLength).toBeLessThan(connection.writableHighWaterMark + ping.length);
  }
  expect(connections).toHaveLength(1);
});

it("an error that nobody foresaw amid a frame is not taken for a broken one", async () => {
  const arrived = Promise.withResolvers<Socket>();
  await raw(await listening(echo, arrived.resolve));
  const read = vi.spyOn(FrameReader.prototype, "push").mockImplementation(() => {
    throw new TypeError("a mistake");
  });
  onTestFinished(() => read.mockRestore());
  const socket = await arrived.promise;
  expect(() => socket.emit("data", Buffer.from("x"))).toThrow("a mistake");
});

it("the server's end reaches the client after its last bytes", async () => {
  const port = await listening((stream) => stream.end("the reason"));
  const client = new WebSocket(`ws://127.0.0.1:${port}/v2`);
  const message = once(client, "message");
  const closed = once(client, "close");
  expect([String((await message)[0]), (await closed)[0]]).toEqual(["the reason", 1000]);
});

it("a frame that never ends is passed on as it comes, and one that is not taken stays with its client", async () => {
  const streams: Duplex[] = [];
  const port = await listening((stream) => streams.push(stream));
  const { socket } = await raw(port);
  // A masked binary frame of a gigabyte.
  const head = Buffer.alloc(14);
  head[0] = 0x82;
  head[1] = 0xff;
  head.writeBigUInt64BE(1024n ** 3n, 2);
  socket.write(head);
  socket.write(Buffer.alloc(64 * 1024 ** 2, 7));
  const stream = streams[0];
  await expect.poll(() => stream?.readableLength).toBeGreaterThan(0);
  const lengths = Array.from({ length: 20 }, async (_, n) => {
    await new Promise((resolve) => setTimeout(resolve, 20 * n));
    return stream?.readableLength ?? 0;
  });
  expect(Math.max(...(await Promise.all(lengths)))).toBeLessThan(200_000);
  const all = Promise.withResolvers<void>();
  let left = 64 * 1024 ** 2;
  stream?.on("data", (chunk: Buffer) => {
    left -= chunk.equals(Buffer.alloc(chunk.length, 7)) ? chunk.length : 0;
    if (left <= 0) all.resolve();
  });
  await all.promise;
  expect(left).toBe(0);
});

test.each([
  ["without a mask", [0x82, 0x01, 0x61]],
  ["with a reserved bit", [0xc2, 0x81, 0, 0, 0, 0, 0x61]],
  ["of an unknown kind", [0x83, 0x81, 0, 0, 0, 0, 0x61]],
  ["that controls and is long", [0x89, 0xfe, 0, 126, 0, 0, 0, 0]],
  ["that controls and is a part", [0x09, 0x80, 0, 0, 0, 0]],
])("a frame %s ends the connection as a broken protocol", async (_name, bytes) => {
  const { socket, received } = await raw(await listening(echo));
  const ended = once(socket, "end");
  socket.write(Buffer.from(bytes));
  await ended;
  expect(Buffer.concat(received).subarray(-4)).toEqual(Buffer.from([0x88, 2, 0x03, 0xea]));
});

test.each([
  ["of another version", handshake.with(2, "sec-websocket-version: 8")],
  ["without a key", handshake.slice(0, 3)],
  ["with a key that is none", handshake.with(3, "sec-websocket-key: x")],
  ["to another protocol", handshake.with(1, "upgrade: h2c")],
])("a handshake %s is refused", async (_name, lines) => {
  const { socket, received } = await raw(await listening(echo), lines);
  if (!socket.readableEnded) await once(socket, "end");
  expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1\.1 400 /);
});

it("a handshake in HTTP/1.0 is refused, in which no connection is taken over", async () => {
  const { received } = await raw(await listening(echo), handshake, { version: "1.0" });
  expect(Buffer.concat(received).toString()).toMatch(/^HTTP\/1\.1 400 /);
});

it("the connection of a handshake that is refused is closed with its client, whatever that sends on, or after a while", async () => {
  const refused: Duplex[] = [];
  const clock = new VirtualClock();
  const server = createServer().on("upgrade", (incoming, socket, head) => {
    refused.push(socket);
    acceptWebSocket(incoming, socket, head, clock);
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const { socket } = await raw(port, handshake.slice(0, 2));
  socket.end("bytes that nobody wants");
  await expect.poll(() => refused.map(({ destroyed }) => destroyed)).toEqual([true]);
  const { socket: staying } = await raw(port, handshake.slice(0, 2));
  await clock.advance(9999);
  staying.write("bytes that nobody wants");
  expect(refused[1]?.destroyed).toBe(false);
  await clock.advance(1);
  expect(refused[1]?.destroyed).toBe(true);
});

it("the connection of a session that has ended is closed with its client, whatever that sends on, or after a while", async () => {
  const [connections, streams]: [Duplex[], (Duplex | undefined)[]] = [[], []];
  const clock = new VirtualClock();
  const timeouts = vi.spyOn(Socket.prototype, "setTimeout").mockReturnThis();
  onTestFinished(() => timeouts.mockRestore());
  const server = createServer().on("upgrade", (incoming, socket, head) => {
    connections.push(socket);
    streams.push(acceptWebSocket(incoming, socket, head, clock)?.end());
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const { socket } = await raw(port);
  // Until then the client may be silent for as long as it likes.
  expect(timeouts.mock.calls.map(([ms]) => ms).at(-1)).toBe(0);
  socket.end(Buffer.alloc(200_000));
  await expect.poll(() => connections.map(({ destroyed }) => destroyed)).toEqual([true]);
  const { socket: staying } = await raw(port);
  await clock.advance(9999);
  staying.write(Buffer.alloc(200_000));
  expect(connections[1]?.destroyed).toBe(false);
  await clock.advance(1);
  expect(connections[1]?.destroyed).toBe(true);
  await expect.poll(() => streams.map((stream) => stream?.destroyed)).toEqual([true, true]);
});
