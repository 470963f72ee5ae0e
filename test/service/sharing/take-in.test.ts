import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createConnection, createServer, Socket } from "node:net";
import { expect, it } from "vitest";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { closeWith, listenOn, takeIn } from "../../../src/service/sharing/take-in.ts";

function from(address: string): Socket {
  return Object.defineProperty(new Socket(), "remoteAddress", { value: address });
}

it("connections from all addresses of one network share its part, and each gives it back at its end", async () => {
  const connections = new Shares(4);
  const [first, second] = [from("2001:db8::1"), from("2001:db8::2")];
  const third = from("2001:db8::3");
  for (const socket of [first, second]) expect(takeIn(socket, connections)).toBeDefined();
  expect([takeIn(third, connections), third.destroyed, first.destroyed]).toEqual([undefined, true, false]);
  const other = from("2001:db8:0:1::1");
  expect([takeIn(other, connections) === undefined, connections.all]).toEqual([false, 3]);
  for (const socket of [first, second, other]) socket.destroy();
  await expect.poll(() => connections.all).toBe(0);
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
  const client = createConnection(await listenOn(server, 0, "127.0.0.1"), "127.0.0.1");
  let heard = "";
  client.on("data", (chunk) => (heard += chunk.toString()));
  await new Promise((resolve) => client.once("close", resolve));
  await closeWith(server, []);
  expect([heard, taken]).toEqual(["too many", [undefined]]);
});

const systemLimit = "/proc/sys/net/core/somaxconn";

/** Begins many connections, and prints how many there are as soon as all are, or no more come. */
const manyConnections = `
  const [port, count] = process.argv.slice(1).map(Number);
  let open = 0;
  const done = () => { console.log(open); process.exit(); };
  for (let index = 0; index < count; index += 1) {
    const socket = require("node:net").connect(port, "127.0.0.1");
    socket.on("error", done).on("connect", () => { open += 1; if (open === count) done(); });
  }
  setTimeout(done, 20_000);
`;

// Elsewhere the system holds fewer, whatever is asked for.
const held = existsSync(systemLimit) ? Math.min(1000, Number(readFileSync(systemLimit, "utf8"))) : 100;

it("a thousand connections that come in one turn of the loop wait for it, and none has to try again", async () => {
  const server = createServer((socket) => socket.on("error", () => {}));
  const port = await listenOn(server, 0, "127.0.0.1");
  // This thread waits, and takes none in.
  const { stdout } = spawnSync(process.execPath, ["-e", manyConnections, String(port), String(held)]);
  await closeWith(server, []);
  expect(Number(stdout)).toBe(held);
});
