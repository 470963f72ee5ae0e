import { once } from "node:events";
import { createConnection } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ListeningShop } from "../support/listening.ts";
import { keys } from "../support/shop.ts";

let shop: ListeningShop;
let host: string;
beforeAll(async () => {
  shop = await ListeningShop.start();
  ({ host } = new URL(shop.baseURL));
});
afterAll(() => shop[Symbol.asyncDispose]());

/** The status of the answer to a request, as it stands on the wire. */
async function statusOf(target: string, headers: readonly string[], method = "GET"): Promise<number> {
  const { hostname, port } = new URL(shop.baseURL);
  const socket = createConnection(Number(port), hostname);
  await once(socket, "connect");
  const lines = [`${method} ${target} HTTP/1.1`, ...headers, "content-length: 0", "connection: close"];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await text(socket))?.[1]);
}

const member = "/_admin/organizations/org-shop/members/acc-none";

it.each([
  ["another host before", (own: string) => ["host: evil.example", `host: ${own}`]],
  ["another host after", (own: string) => [`host: ${own}`, "host: evil.example"]],
  ["the same host twice", (own: string) => [`host: ${own}`, `Host: ${own}`]],
  ["two origins", (own: string) => [`host: ${own}`, `origin: http://${own}`, "origin: http://evil.example"]],
  ["two keys", (own: string) => [`host: ${own}`, "authorization: Bearer x", `Authorization: Bearer ${keys.ana}`]],
])("a request that names %s is refused", async (_, headers) => {
  expect(await statusOf("/api/v2/projects", headers(host))).toBe(400);
  expect(await statusOf(member, headers(host), "DELETE")).toBe(400);
});

it("a whole URL is answered to whom its host names, and not under another host", async () => {
  const key = `authorization: Bearer ${keys.ana}`;
  expect(await statusOf(`http://${host}/api/v2/projects`, [`host: ${host}`, key])).toBe(200);
  expect(await statusOf(`http://evil.example/api/v2/projects`, [`host: ${host}`, key])).toBe(400);
  expect(await statusOf(`http://evil.example${member}`, [`host: ${host}`], "DELETE")).toBe(400);
  expect(await statusOf(`http://${host}${member}`, ["host: evil.example"], "DELETE")).toBe(400);
  expect(await statusOf(`http://evil.example${member}`, ["host: evil.example"], "DELETE")).toBe(403);
  expect(await statusOf(`http://${host}${member}`, [`host: ${host}`], "DELETE")).toBe(404);
});

it.each([
  ["/%5fadmin/organizations/org-shop/members/acc-bob", "evil.example"],
  ["/%5Fadmin/organizations/org-shop/members/acc-bob", "localhost"],
])("a call without a key is not carried out for a stranger who spells it %s under %s", async (target, name) => {
  const before = shop.core.context.store.accounts.members("org-shop").length;
  expect([403, 404]).toContain(await statusOf(target, [`host: ${name}`], "DELETE"));
  expect(shop.core.context.store.accounts.members("org-shop")).toHaveLength(before);
});

it.each(["/x/..", "/%2e", "/x/%2E%2e", "/x/.%2E", "/.", "/x\\.."])(
  "a call without a key is not carried out under a path that begins with %s, which a proxy does not know for another one",
  async (before) => {
    expect(await statusOf(`${before}${member}`, [`host: ${host}`], "DELETE")).toBe(400);
    expect(await statusOf(`http://${host}${before}${member}?x`, [`host: ${host}`], "DELETE")).toBe(400);
    expect(await statusOf(`${member}?x=${before}/`, [`host: ${host}`], "DELETE")).toBe(404);
  },
);

it("a control character, a path that leads out and half an escape are none of a route", async () => {
  const key = `authorization: Bearer ${keys.ana}`;
  for (const target of [
    "/%",
    "/api/v2/projects/%",
    "/api/v2/projects/%ff",
    "/api/v2/%70rojects",
    "/api%2fv2/projects",
  ]) {
    expect([target, await statusOf(target, [`host: ${host}`, key])]).toEqual([target, 404]);
  }
});

it.each([
  ["a path", (length: number) => `/api/v2/projects/${"x".repeat(length - 17)}`, 4096, 404],
  [
    "parameters",
    (count: number) => `/api/v2/projects?${Array.from({ length: count }, (_, at) => `p${at}`).join("&")}`,
    64,
    200,
  ],
])(
  "a URL with more of %s than any call needs is refused before its key is looked at",
  async (_, target, most, status) => {
    const asked = (size: number, key: string) =>
      statusOf(target(size), [`host: ${host}`, `authorization: Bearer ${key}`]);
    expect([await asked(most, keys.ana), await asked(most + 1, keys.ana), await asked(most + 1, "none")]).toEqual([
      status,
      400,
      400,
    ]);
  },
);

it("a request with more headers than any client sends is refused before its key is looked at", async () => {
  // Of its own it has four: a host, a key, a length and what becomes of the connection.
  const asked = (count: number, key: string) =>
    statusOf("/api/v2/projects", [
      `host: ${host}`,
      `authorization: Bearer ${key}`,
      ...Array.from({ length: count - 4 }, (_, at) => `x-${at}: 1`),
    ]);
  expect([await asked(100, keys.ana), await asked(101, keys.ana), await asked(101, "none")]).toEqual([200, 400, 400]);
});
