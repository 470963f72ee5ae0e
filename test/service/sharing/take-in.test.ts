import { once } from "node:events";
import { createConnection, createServer, Socket } from "node:net";
import { expect, it, vi } from "vitest";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { closeWith, listenOn, takeIn } from "../../../src/service/sharing/take-in.ts";

function from(address: string): Socket {
  return Object.defineProperty(new Socket(), "remoteAddress", { value: address });
}

it("connections from all addresses of one network share its part, and each gives back what it has", () => {
  const connections = new Shares(4);
  const [first, second] = [from("2001:db8::1"), from("2001:db8::2")];
  const third = from("2001:db8::3");
  const taken = [takeIn(first, connections), takeIn(second, connections)];
  expect([takeIn(third, connections), third.destroyed, first.destroyed]).toEqual([undefined, true, false]);
  const other = from("2001:db8:0:1::1");
  expect([takeIn(other, connections) === undefined, connections.all]).toEqual([false, 3]);
  for (const one of taken) one?.release();
  expect(connections.all).toBe(1);
});

it("a connection, also one that is not taken in, is asked after a minute of silence whether it is still there", () => {
  for (const shares of [new Shares(4), new Shares(0)]) {
    const socket = from("192.0.2.1");
    const keepAlive = vi.spyOn(socket, "setKeepAlive");
    takeIn(socket, shares);
    expect(keepAlive.mock.calls).toEqual([[true, 60_000]]);
    socket.destroy();
  }
});

it("a connection that breaks while it is told why it is not taken in is closed, and the service goes on", () => {
  const broken = from("192.0.2.1");
  expect(takeIn(broken, new Shares(0), "too many")).toBeUndefined();
  expect(broken.emit("error", new Error("write EPIPE"))).toBe(true);
  expect(broken.destroyed).toBe(true);
});

it("a connection that is not taken in is told why, and closed", async () => {
  const taken: unknown[] = [];
  const server = createServer((socket) => taken.push(takeIn(socket, new Shares(0), "too many")));
  const port = await listenOn(server, 0, "127.0.0.1");
  // It would keep its own side open.
  const client = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
  const staying = new Promise<Socket>((resolve) => server.once("connection", resolve));
  let heard = "";
  client.on("data", (chunk) => (heard += chunk.toString()));
  await once(client, "end");
  await expect.poll(async () => (await staying).destroyed).toBe(true);
  client.destroy();
  await closeWith(server, []);
  expect([heard, taken]).toEqual(["too many", [undefined]]);
});

it("a server goes on where connections cannot be accepted, however often", async () => {
  const server = createServer((socket) => socket.end("here"));
  const port = await listenOn(server, 0, "127.0.0.1");
  for (let times = 0; times < 3; times += 1) server.emit("error", new Error("accept EMFILE"));
  const client = createConnection({ port, host: "127.0.0.1" });
  const [heard] = await once(client, "data");
  expect(String(heard)).toBe("here");
  await closeWith(server, [client]);
});
