import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { ListeningShop } from "../support/listening.ts";
import { keys } from "../support/shop.ts";

/** A raw connection to the shop: what has come back so far, and whether it has ended. */
class Wire {
  readonly socket: Socket;
  received = "";
  readonly ended: Promise<unknown>;

  constructor(shop: ListeningShop) {
    const { hostname, port } = new URL(shop.baseURL);
    this.socket = connect(Number(port), hostname);
    this.socket.on("data", (data) => {
      this.received += data.toString("utf8");
    });
    // A connection that the service cuts while we write ends with an error here.
    this.socket.on("error", () => {});
    this.ended = once(this.socket, "close");
  }

  send(text: string): void {
    this.socket.write(text);
  }

  /** Resolves when an answer has begun. */
  async answer(): Promise<string> {
    while (!this.received.includes("\r\n\r\n")) await once(this.socket, "data");
    return this.received;
  }
}

function post(length: string): string {
  return `POST /api/v2/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${keys.ana}\r\n${length}\r\n\r\n`;
}

it("a body that says it is too long is refused before any of it has come", async () => {
  await using shop = await ListeningShop.start();
  const wire = new Wire(shop);
  wire.send(post("Content-Length: 1000001"));
  expect(await wire.answer()).toMatch(/^HTTP\/1\.1 413 /);
  wire.socket.destroy();
});

it("a body without a stated length is refused as soon as it is too long, and its connection ends", async () => {
  await using shop = await ListeningShop.start({}, { requestTimeoutMs: 600_000 });
  const wire = new Wire(shop);
  wire.send(post("Transfer-Encoding: chunked"));
  const chunk = `fffff\r\n${"x".repeat(0xf_ff_ff)}\r\n`;
  wire.send(chunk);
  wire.send(chunk);
  expect(await wire.answer()).toMatch(/^HTTP\/1\.1 413 /);
  // The last chunk never comes.
  await wire.ended;
});

it("a body of which only half comes is cut off, whole ones before and after are answered", async () => {
  await using shop = await ListeningShop.start({}, { requestTimeoutMs: 200 });
  const wire = new Wire(shop);
  wire.send(`${post("Content-Length: 100")}{"project":`);
  await wire.ended;
  expect(wire.received).toMatch(/^(HTTP\/1\.1 408 |$)/);
  const headers = { authorization: `Bearer ${keys.ana}` };
  // A busy machine may not bring a request in time: that one is cut off, too.
  await expect.poll(async () => (await fetch(`${shop.baseURL}/auth`, { headers })).status).toBe(200);
});

it("a request is cut off while its headers are half sent, too", async () => {
  await using shop = await ListeningShop.start({}, { requestTimeoutMs: 200 });
  const wire = new Wire(shop);
  wire.send("POST /api/v2/projects HTTP/1.1\r\nHost: loc");
  await wire.ended;
  expect(wire.received).toMatch(/^(HTTP\/1\.1 408 |$)/);
});
