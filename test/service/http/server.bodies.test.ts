import { IncomingMessage } from "node:http";
import { expect, it, test, vi } from "vitest";
import { ErrorBody } from "../../../src/api/error.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys, primary, project, Shop } from "../support/shop.ts";
import { Wire } from "../support/wire.ts";

function post(length: string, key: string = keys.ana, path = "/api/v2/projects"): string {
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\n${length}\r\n\r\n`;
}

/** Sends half of a body of 900,000 bytes. */
function half(shop: ListeningShop, key: string, path?: string): Wire {
  const wire = new Wire(shop);
  wire.send(post("Content-Length: 900000", key, path));
  wire.send(`{"project":{"name":"${"x".repeat(450_000)}`);
  return wire;
}

it("a body that says it is too long is refused before any of it has come", async () => {
  await using shop = await ListeningShop.start();
  const wire = new Wire(shop);
  wire.send(post("Content-Length: 1000001"));
  expect(await wire.answer()).toMatch(/^HTTP\/1\.1 413 /);
  wire.socket.destroy();
});

it("no room is held for the body of a call that takes none, or of a key that is not known", () => {
  const { core } = new Shop();
  const roomOf = (method: string, key: string) =>
    core.bodyRoom({ method, path: "/api/v2/projects", headers: { authorization: `Bearer ${key}` } });
  expect(roomOf("POST", keys.ana)).toEqual({ holder: "acc-ana", longest: 1_000_000 });
  expect([roomOf("GET", keys.ana), roomOf("POST", "none")]).toEqual([undefined, undefined]);
});

it("a body of a megabyte is read, with or without a stated length, and no byte more", async () => {
  await using shop = await ListeningShop.start();
  const headers = { authorization: `Bearer ${keys.ana}` };
  const url = `${shop.baseURL}/projects`;
  const status = async (length: number) => {
    const body = "x".repeat(length);
    const stated = await fetch(url, { method: "POST", headers, body });
    const unstated = await fetch(url, { method: "POST", headers, body: new Blob([body]).stream(), duplex: "half" });
    return [stated.status, unstated.status];
  };
  expect(await status(1_000_000)).toEqual([400, 400]);
  expect(await status(1_000_001)).toEqual([413, 413]);
});

it.each([
  ["an account", keys.ana],
  ["a stranger, of which nothing is kept,", "wrong"],
])(
  "a body of %s without a stated length is refused as soon as it is too long, and its connection ends",
  async (_, key) => {
    await using shop = await ListeningShop.start({}, { requestTimeoutMs: 600_000 });
    const wire = new Wire(shop);
    wire.send(post("Transfer-Encoding: chunked", key));
    const chunk = `fffff\r\n${"x".repeat(0xf_ff_ff)}\r\n`;
    wire.send(chunk);
    wire.send(chunk);
    expect(await wire.answer()).toMatch(/^HTTP\/1\.1 413 /);
    // The last chunk never comes.
    await wire.ended;
  },
);

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

it("unfinished bodies are held for accounts, and none for a stranger or where the answer does not depend on it", async () => {
  const bytes = new Shares();
  await using shop = await ListeningShop.start({}, { bytes, requestTimeoutMs: 600_000 });
  const dropped = [half(shop, "wrong"), half(shop, keys.ana, "/api/v2/nowhere"), half(shop, keys.ana, "/_faults")];
  const signIn = new Wire(shop);
  signIn.send("POST /app/sign-in HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  signIn.send(`fffff\r\n${"x".repeat(0xf_ff_ff)}\r\n`);
  expect(await signIn.answer()).toMatch(/^HTTP\/1\.1 413 [^]*larger than 10000 bytes/);
  // A person reads a page, and not the JSON of the API.
  expect(await signIn.answer()).toMatch(/content-type: text\/html[^]*<p>The request body is larger than 10000 bytes/i);
  const held = half(shop, keys.ana);
  await expect.poll(() => bytes.all).toBe(450_020);
  for (const wire of [held, ...dropped]) wire.socket.destroy();
  await expect.poll(() => bytes.all).toBe(0);
  // A call without a right is answered as before, its body read to the end.
  const unread = new Wire(shop);
  unread.send(`${post("Content-Length: 5", "wrong")}[[[[[`);
  expect(await unread.answer()).toMatch(/^HTTP\/1\.1 401 /);
  unread.socket.destroy();
});

it("an account that holds its share of the bytes in flight is refused more, and others are not", async () => {
  const bytes = new Shares(1_600_000);
  await using shop = await ListeningShop.start({}, { bytes, requestTimeoutMs: 600_000 });
  const held = half(shop, keys.ana);
  await expect.poll(() => bytes.all).toBe(450_020);
  const refused = half(shop, keys.ana);
  expect(await refused.answer()).toMatch(/^HTTP\/1\.1 503 [^]*retry-after: 1\r[^]*too many bytes/);
  const [ana, bob] = await Promise.all(
    [keys.ana, keys.bob].map(async (key) => {
      const headers = { authorization: `Bearer ${key}` };
      const body = JSON.stringify({ project: { name: "new" }, x: "x".repeat(400_000) });
      return (await fetch(`${shop.baseURL}/projects`, { method: "POST", headers, body })).status;
    }),
  );
  expect([ana, bob]).toEqual([503, 400]);
  held.socket.destroy();
  await expect.poll(() => bytes.all).toBe(0);
});

it("the connection of a client that takes nothing of its answer is ended", async () => {
  await using shop = await ListeningShop.start({}, { answerTimeoutMs: 200 });
  const wire = new Wire(shop);
  wire.socket.pause();
  const request = `GET /api/v2/openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${keys.ana}\r\n\r\n`;
  wire.send(request.repeat(60));
  // A connection that the service has ended takes no more requests.
  await expect
    .poll(() => {
      wire.send(request.repeat(5));
      return wire.socket.destroyed;
    })
    .toBe(true);
});

it("a body in thousands of pieces is read where they are not tiny", async () => {
  await using shop = await ListeningShop.start();
  const wire = new Wire(shop);
  wire.send(`${post("Transfer-Encoding: chunked")}${`50\r\n${" ".repeat(80)}\r\n`.repeat(11_000)}0\r\n\r\n`);
  expect(await wire.answer()).toMatch(/^HTTP\/1\.1 400 [^]*the request needs a JSON body/);
  wire.socket.destroy();
});

it("a connection whose body comes in thousands of tiny pieces is ended, whether they are kept, dropped or refused", async () => {
  await using shop = await ListeningShop.start({}, { requestTimeoutMs: 600_000 });
  const tiny = "1\r\n \r\n";
  const large = `fffff\r\n${" ".repeat(0xf_ff_ff)}\r\n`;
  const ended = async (begin: string) => {
    const wire = new Wire(shop);
    wire.send(`${begin}${tiny.repeat(100_000)}`);
    await wire.ended;
    return wire.received;
  };
  const chunked = "Transfer-Encoding: chunked";
  expect(await ended(post(chunked))).toBe("");
  expect(await ended(post(chunked, "wrong"))).toBe("");
  // Pieces that are dropped after the answer.
  await ended(`${post(chunked)}${large}${large}`);
  expect(shop.sent).toEqual([]);
  const few = new Wire(shop);
  few.send(`${post(chunked)}${tiny.repeat(900)}0\r\n\r\n`);
  expect(await few.answer()).toMatch(/^HTTP\/1\.1 400 /);
  few.socket.destroy();
});

test.each([
  ["nobody reads it", "POST http://elsewhere/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"],
  ["it is kept", post("Transfer-Encoding: chunked")],
  ["the one before waits", `GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n${post("Transfer-Encoding: chunked")}`],
])("few of thousands of tiny pieces that come at once are taken out of a body, also where %s", async (_when, begin) => {
  await using shop = await ListeningShop.start({}, { requestTimeoutMs: 600_000 });
  const taken = vi.spyOn(IncomingMessage.prototype, "push");
  const reported = vi.spyOn(shop.core, "internalError");
  const wire = new Wire(shop);
  wire.send(begin + "1\r\n \r\n".repeat(20_000));
  // Well before it would end as an idle one.
  await expect.poll(() => wire.socket.destroyed).toBe(true);
  expect(taken.mock.calls.length).toBeLessThan(2000);
  expect(reported).not.toHaveBeenCalled();
  taken.mockRestore();
});

it("a body that is too long is read no further than to its refusal where the URL is no valid one", async () => {
  await using shop = await ListeningShop.start({}, { requestTimeoutMs: 600_000 });
  const wire = new Wire(shop);
  wire.send("POST http://elsewhere/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  expect(await wire.answer()).toMatch(/^HTTP\/1\.1 400 /);
  await expect.poll(() => wire.socket.destroyed).toBe(true);
});

it("the bytes of a body whose connection is ended for its tiny pieces are given back", async () => {
  const bytes = new Shares();
  const taken = vi.spyOn(bytes, "of");
  await using shop = await ListeningShop.start({}, { bytes, requestTimeoutMs: 600_000 });
  const wire = new Wire(shop);
  wire.send(`${post("Transfer-Encoding: chunked")}${"1\r\n \r\n".repeat(100_000)}`);
  await wire.ended;
  expect(taken).toHaveBeenCalledOnce();
  await expect.poll(() => bytes.all).toBe(0);
});

test.each([
  ["of Latin-1", [0xe9]],
  ["in more bytes than it takes", [0xc0, 0xaf]],
  ["of five bytes", [0xf8, 0x88, 0x80, 0x80, 0x80]],
  ["that is half of a pair", [0xed, 0xa0, 0x80]],
  ["without its first byte", [0x80]],
  ["without its last byte", [0xe3, 0x81]],
])("a body with a character %s is refused, as it would become another text", async (_kind, bytes) => {
  await using shop = await ListeningShop.start();
  const named = async (name: readonly number[]) => {
    const body = Buffer.concat([Buffer.from('{"project":{"name":"'), Buffer.from(name), Buffer.from('"}}')]);
    const headers = { authorization: `Bearer ${keys.ana}` };
    const answer = await fetch(`${shop.baseURL}/projects`, { method: "POST", headers, body });
    return `${answer.status} ${await answer.text()}`;
  };
  expect(await named(bytes)).toMatch(/^400 .*the request body is not UTF-8/);
  expect(await named([...Buffer.from("\u3042")])).toMatch(/^201 .*"name":"\u3042"/);
});

it("a body that ends within a character is refused", async () => {
  await using shop = await ListeningShop.start();
  const headers = { authorization: `Bearer ${keys.ana}` };
  const body = Buffer.from([0x22, 0xe3, 0x81]);
  const answer = await fetch(`${shop.baseURL}/projects`, { method: "POST", headers, body });
  expect(`${answer.status} ${await answer.text()}`).toMatch(/^400 .*the request body is not UTF-8/);
});

it.each([
  ["a compressed body", "/projects", { "content-encoding": "gzip" }, "{}", 415],
  ["a body that is no UTF-8", "/projects", {}, Buffer.from([0xff]), 400],
  ["a very long query", `/projects?search=${"x".repeat(5000)}`, {}, "{}", 400],
])(
  "the refusal of %s has the client's id of the request, or one of its own",
  async (_, path, headers, body, status) => {
    await using shop = await ListeningShop.start();
    const idsOf = async (own: Record<string, string>) => {
      const all = { authorization: `Bearer ${keys.ana}`, ...headers, ...own };
      const answer = await fetch(`${shop.baseURL}${path}`, { method: "POST", headers: all, body });
      return [answer.status, answer.headers.get("x-request-id"), ErrorBody.parse(await answer.json()).request_id];
    };
    expect(await idsOf({ "x-request-id": "mine-1" })).toEqual([status, "mine-1", "mine-1"]);
    const [, inHeader, inBody] = await idsOf({});
    expect([inHeader, inBody]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), inHeader]);
  },
);

it("a compressed body is refused as such, a body in the coding that is none is taken, and one that nobody reads is ignored", async () => {
  await using shop = await ListeningShop.start();
  const send = async (coding: string, path: string, body: string) => {
    const headers = { authorization: `Bearer ${keys.ana}`, "content-encoding": coding };
    const answer = await fetch(`${shop.baseURL}${path}`, { method: "POST", headers, body });
    return [answer.status, answer.headers.get("accept-encoding")];
  };
  const body = '{"project":{"name":"x"}}';
  expect(await send("gzip", "/projects", body)).toEqual([415, "identity"]);
  expect(await send("Identity", "/projects", body)).toEqual([201, null]);
  expect(await send("gzip", `/projects/${project}/endpoints/${primary}/start`, body)).toEqual([200, null]);
});
