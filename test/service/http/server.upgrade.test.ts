import { once } from "node:events";
import { request } from "node:http";
import { duplexPair } from "node:stream";
import { connect } from "node:tls";
import { expect, it, test } from "vitest";
import type { SqlAccess } from "../../../src/service/http/sql-access.ts";
import { certificateFor, newAuthority } from "../../../src/service/postgres/proxy/certificate.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys } from "../support/shop.ts";
import { Wire } from "../support/wire.ts";

const sql: SqlAccess = {
  answer: () => Promise.reject(new Error("not asked")),
  refresh: () => Promise.resolve(),
  upgrade(_incoming, socket) {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n");
  },
};

/** The status of a call that offers another protocol. */
async function offered(shop: ListeningShop, path: string, upgrade: string, body = ""): Promise<number | undefined> {
  const headers = {
    authorization: `Bearer ${keys.ana}`,
    connection: "Upgrade",
    upgrade,
    "content-length": body.length,
  };
  const asked = request(new URL(path, shop.baseURL), { method: body === "" ? "GET" : "POST", headers, agent: false });
  asked.end(body);
  const [answer] = await Promise.race([once(asked, "response"), once(asked, "upgrade")]);
  answer.destroy();
  return answer.statusCode;
}

test.each([
  ["h2c", "/api/v2/projects", "", 200],
  ["websocket", "/healthz", "", 200],
  ["h2c", "/api/v2/projects/shop/branches", "{", 400],
])(
  "a call that offers %s at %s is answered as without the offer, also beside Postgres",
  async (upgrade, path, body, status) => {
    await using shop = await ListeningShop.start({}, {}, sql);
    expect(await offered(shop, path, upgrade, body)).toBe(status);
    await using without = await ListeningShop.start();
    expect(await offered(without, path, upgrade, body)).toBe(status);
  },
);

it("a connection is taken over for a WebSocket at /v2 alone", async () => {
  const taken: string[] = [];
  const upgrade: SqlAccess["upgrade"] = (incoming, socket, head, url) => {
    taken.push(url.pathname);
    sql.upgrade(incoming, socket, head, url, () => {});
  };
  await using shop = await ListeningShop.start({}, {}, { ...sql, upgrade });
  expect([await offered(shop, "/v2", "websocket"), await offered(shop, "/v2/", "websocket")]).toEqual([101, 404]);
  expect(taken).toEqual(["/v2"]);
});

it("a connection is not taken over for a WebSocket before the requests sent ahead of that are answered", async () => {
  await using shop = await ListeningShop.start({}, {}, sql);
  const wire = new Wire(shop);
  const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;
  const handshake = get("/v2", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
  wire.send(`${get("/healthz")}${handshake}`);
  await expect.poll(() => wire.received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 404"]);
  wire.send(handshake);
  await expect.poll(() => wire.received).toMatch(/HTTP\/1\.1 101 /);
  wire.socket.destroy();
});

it("what Node reads of the client of a WebSocket counts in the share of its network until it has logged in or is given up", async () => {
  const bytes = new Shares(3 * 131_072);
  const taken: (() => void)[] = [];
  const upgrade: SqlAccess["upgrade"] = (_incoming, socket, _head, _url, release) => {
    socket.resume().once("end", () => socket.destroy());
    taken.push(release);
  };
  await using shop = await ListeningShop.start({}, { bytes }, { ...sql, upgrade });
  const arrive = () => {
    const wire = new Wire(shop);
    wire.send("GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    return wire;
  };
  const first = arrive();
  await expect.poll(() => taken.length).toBe(1);
  expect(await arrive().answer()).toMatch(/^HTTP\/1\.1 503 /);
  taken[0]?.();
  const second = arrive();
  await expect.poll(() => taken.length).toBe(2);
  expect(bytes.all).toBe(131_072);
  for (const wire of [first, second]) wire.socket.destroy();
  await Promise.all([first, second].map(({ socket }) => once(socket, "close")));
  // It may still wait for its compute.
  expect(bytes.all).toBe(131_072);
  taken[1]?.();
  expect(bytes.all).toBe(0);
});

it("a connection that breaks while it is taken over for a WebSocket ends, and ends alone", async () => {
  let isHeard = false;
  let isFirst = true;
  const upgrade: SqlAccess["upgrade"] = (incoming, socket, head, url) => {
    if (isFirst) isHeard = socket.emit("error", new Error("read ECONNRESET"));
    isFirst = false;
    sql.upgrade(incoming, socket, head, url, () => {});
  };
  await using shop = await ListeningShop.start({}, {}, { ...sql, upgrade });
  await expect(offered(shop, "/v2", "websocket")).rejects.toThrow("socket hang up");
  expect([await offered(shop, "/v2", "websocket"), isHeard]).toEqual([101, true]);
});

it("a connection whose TLS channel breaks ends, also where it was taken over for a WebSocket", async () => {
  const tls = certificateFor(["localhost"], newAuthority());
  await using shop = await ListeningShop.start(
    {},
    { tls },
    { ...sql, upgrade: (_, socket) => void socket.write("taken") },
  );
  const wire = new Wire(shop);
  const [client, relayed] = duplexPair();
  relayed.pipe(wire.socket).pipe(relayed);
  const secured = connect({ socket: client, rejectUnauthorized: false }).on("error", () => {});
  secured.write("GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  expect(String((await once(secured, "data"))[0])).toBe("taken");
  wire.socket.write(Buffer.concat([Buffer.from([0x17, 3, 3, 0, 30]), Buffer.alloc(30)]));
  await wire.ended;
});

it("the service ends although the client of a WebSocket stays", async () => {
  const upgraded = Promise.withResolvers<void>();
  const upgrade: SqlAccess["upgrade"] = (_incoming, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n");
    upgraded.resolve();
  };
  const shop = await ListeningShop.start({}, {}, { ...sql, upgrade });
  const wire = new Wire(shop);
  wire.send("GET /v2 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  await upgraded.promise;
  await shop[Symbol.asyncDispose]();
  await wire.ended;
  expect(wire.received).toMatch(/^HTTP\/1.1 101 /);
});
