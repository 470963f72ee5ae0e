import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { isFromElsewhere, isLoopbackHost } from "../../../src/service/http/loopback.ts";
import { cpuOf } from "../fuzz/work.ts";
import { ListeningShop } from "../support/listening.ts";
import { primary } from "../support/shop.ts";
import { Wire } from "../support/wire.ts";

it.each([
  ["HTTP/1.1", "HTTP/1.1 200 OK"],
  ["HTTP/1.0", "HTTP/1.1 403 Forbidden"],
])("a local call in %s is answered with %s: nginx proxies in 1.0 and adds no header", async (version, answer) => {
  await using shop = await ListeningShop.start();
  const wire = new Wire(shop);
  const { host } = new URL(shop.baseURL);
  wire.send(`POST /_connect/${primary} ${version}\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  expect((await wire.answer()).split("\r\n")[0]).toBe(answer);
});

it("the API and its health are answered in HTTP/1.0, in which a proxy asks", async () => {
  await using shop = await ListeningShop.start();
  for (const path of ["/healthz", "/api/v2/openapi.json"]) {
    const wire = new Wire(shop);
    wire.send(`GET ${path} HTTP/1.0\r\nHost: localhost\r\n\r\n`);
    expect((await wire.answer()).split("\r\n")[0]).toBe("HTTP/1.1 200 OK");
  }
});

/** Sends a request and resets the connection. */
const resets = `const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1", () =>
  socket.write(process.argv[2], () => socket.resetAndDestroy()));`;

it("a call whose client has reset its connection by then, so that the system knows no address, is not a local one", async () => {
  await using shop = await ListeningShop.start();
  const { port } = new URL(shop.baseURL);
  const path = `/_connect/${primary}`;
  const request = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  // The service comes to the connection after its end.
  spawnSync(process.execPath, ["--eval", resets, port, request]);
  await expect.poll(() => shop.sent).toMatchObject([{ path, status: 403 }]);
});

it("behind a proxy that adds nothing and names its target, no caller counts as one of this machine", async () => {
  await using shop = await ListeningShop.start({}, { behindProxy: true });
  const at = (path: string) => new URL(path, shop.baseURL);
  const asked = await fetch(at(`/_connect/${primary}`), { method: "POST" });
  const page = await (await fetch(at("/"))).text();
  const body = new URLSearchParams({ account: "acc-ana" });
  const signedIn = await fetch(at("/app/sign-in"), { method: "POST", body, redirect: "manual" });
  expect([asked.status, page.includes("example.com"), signedIn.status]).toEqual([403, false, 403]);
});

it.each([
  ["localhost", true],
  ["LocalHost", true],
  ["127.0.0.1", true],
  ["127.1.2.3", true],
  ["[::1]", true],
  ["::1", true],
  ["localhost.example.com", false],
  ["my-localhost", false],
  ["127.0.0.1.example.com", false],
  ["1127.0.0.1", false],
  ["", false],
])("the host name %s means this machine alone: %s", (name, isOne) => {
  expect(isLoopbackHost(name)).toBe(isOne);
});

it.each([
  [{}, false],
  [{ "sec-fetch-site": "none" }, false],
  [{ "sec-fetch-site": "same-origin" }, false],
  [{ "sec-fetch-site": "same-site" }, true],
  [{ "sec-fetch-site": "none", origin: "http://example.com", host: "localhost" }, true],
  [{ origin: "http://localhost:8090", host: "localhost:8090" }, false],
  [{ origin: "https://api.db.test", host: "api.db.test" }, false],
  [{ origin: "http://localhost", host: "localhost:8090" }, true],
  [{ origin: "null", host: "localhost" }, true],
])("a call with the headers %j comes from another site: %s", (headers, does) => {
  expect(isFromElsewhere({ method: "GET", path: "/", headers })).toBe(does);
});

it("a stranger's origin takes no more time than its bytes take", () => {
  const origin = `https://${"a".repeat(6000)}${"%E4%B8%80".repeat(1000)}`;
  const call = { method: "GET", path: "/", headers: { origin, host: "localhost" } };
  // Read as a URL it takes 30 ms.
  expect(cpuOf(() => isFromElsewhere(call), 50)).toBeLessThan(3000);
});
