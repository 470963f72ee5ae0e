import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { ServerResponse } from "node:http";
import { connect, Socket } from "node:net";
import { expect, it, onTestFinished, test, vi } from "vitest";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { ListeningShop } from "../support/listening.ts";

/** Asks for the service's health on a connection of its own, which stays open; true if there is an answer. */
async function asked({ baseURL }: ListeningShop, localAddress: string): Promise<{ socket: Socket; served: boolean }> {
  const { hostname, port } = new URL(baseURL);
  const socket = connect({ host: hostname, port: Number(port), localAddress }).on("error", () => {});
  socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const served = await Promise.race([
    once(socket, "data").then(([data]) => String(data).startsWith("HTTP/1.1 200 ")),
    once(socket, "close").then(() => false),
  ]);
  return { socket, served };
}

it("an address has its share of connections, others have theirs, and one that ends makes room for another", async () => {
  await using shop = await ListeningShop.start({}, { connections: new Shares(7) });
  const all = [];
  for (const last of [1, 1, 1, 1, 2]) all.push(await asked(shop, `127.0.0.${last}`));
  expect(all.map(({ served }) => served)).toEqual([true, true, true, false, true]);
  all[0]?.socket.destroy();
  await expect.poll(async () => (await asked(shop, "127.0.0.1")).served).toBe(true);
});

it("a connection beyond the share of its address is told so in a whole answer, and ends", async () => {
  await using shop = await ListeningShop.start({}, { connections: new Shares(0) });
  const answer = await fetch(new URL(shop.baseURL));
  expect([answer.status, await answer.text()]).toEqual([
    503,
    expect.stringMatching(/^too many connections of your .*\n$/),
  ]);
  const headers = ["content-type", "content-length", "retry-after", "connection"].map((name) =>
    answer.headers.get(name),
  );
  expect(headers).toEqual(["text/plain", "73", "1", "close"]);
});

it("nothing of a connection that has ended is kept: the end of the service finds none to close", async () => {
  const connections = new Shares(100);
  const shop = await ListeningShop.start({}, { connections });
  const all = [await asked(shop, "127.0.0.1"), await asked(shop, "127.0.0.1"), await asked(shop, "127.0.0.1")];
  for (const { socket } of all) socket.destroy();
  await expect.poll(() => connections.all).toBe(0);
  const closed = vi.spyOn(Socket.prototype, "destroy");
  await shop[Symbol.asyncDispose]();
  expect(closed).not.toHaveBeenCalled();
  closed.mockRestore();
});

it("a client of TLS beyond the share of its address is closed without a word, which would be none of TLS", async () => {
  const tls = certificateFor(["localhost"], newAuthority());
  await using shop = await ListeningShop.start({}, { connections: new Shares(0), tls });
  const { hostname, port } = new URL(shop.baseURL);
  const socket = connect({ host: hostname, port: Number(port) }).on("error", () => {});
  socket.resume();
  await once(socket, "close");
  expect(socket.bytesRead).toBe(0);
});

it("asks the system to notice clients that are gone without a word", async () => {
  const asks = vi.spyOn(Socket.prototype, "setKeepAlive");
  await using shop = await ListeningShop.start();
  const { socket } = await asked(shop, "127.0.0.1");
  expect(asks).toHaveBeenCalledWith(true, 60_000);
  socket.destroy();
  asks.mockRestore();
});

test.each([
  ["says nothing", []],
  ["ends within the head of a record", [0x16, 3, 1]],
  ["ends within its first message", [0x16, 3, 1, 0, 200, 1, 0, 0]],
])("a client whose TLS handshake %s is closed after the time that a request has", async (_step, bytes) => {
  const tls = certificateFor(["localhost"], newAuthority());
  await using shop = await ListeningShop.start({}, { requestTimeoutMs: 200, tls });
  const { hostname, port } = new URL(shop.baseURL);
  const socket = connect({ host: hostname, port: Number(port) }).on("error", () => {});
  socket.write(Buffer.from(bytes));
  // A socket that nobody reads shows no end.
  socket.resume();
  await once(socket, "close");
  expect(socket.bytesRead).toBe(0);
});

it("an answer may take longer to be made than a client may take to read it", async () => {
  await using shop = await ListeningShop.start({ faults: true }, { answerTimeoutMs: 50 });
  shop.core.setFaults([{ method: "*", route: "*", kind: "delay", ms: 400 }]);
  expect((await fetch(`${shop.baseURL}/auth`)).status).toBe(401);
});

it("a client has 30 seconds to send a request, a minute to take its answer, and 65 seconds until its next one", async () => {
  const onRequest = vi.fn<(message: unknown) => void>();
  subscribe("http.server.request.start", onRequest);
  const answerTimes = vi.spyOn(ServerResponse.prototype, "setTimeout");
  onTestFinished(() => {
    unsubscribe("http.server.request.start", onRequest);
    answerTimes.mockRestore();
  });
  await using shop = await ListeningShop.start();
  await fetch(`${shop.baseURL}/auth`);
  const server = { requestTimeout: 30_000, headersTimeout: 30_000, keepAliveTimeout: 65_000 };
  expect(onRequest.mock.calls.map(([message]) => message)).toMatchObject([{ server }]);
  expect(answerTimes.mock.calls).toEqual([[60_000]]);
});
