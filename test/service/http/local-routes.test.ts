import { beforeEach, describe, expect, it } from "vitest";
import { controlRoutes } from "../../../src/service/http/control-routes.ts";
import { localRoutes } from "../../../src/service/http/local-routes.ts";
import type { ServiceCall } from "../../../src/service/http/message.ts";
import { Seed } from "../../../src/service/seed/document.ts";
import { applySeed } from "../../../src/service/seed/seed.ts";
import { keys, primary, Shop, shopSeed } from "../support/shop.ts";

let shop: Shop;
beforeEach(() => {
  const document = Seed.parse(shopSeed);
  shop = new Shop({
    faults: true,
    testControls: { applySeed: (context, at) => applySeed(context, document, at), advance: (ms) => shop.time.pass(ms) },
  });
});

const controls = controlRoutes({ setFaults: undefined, reset: undefined, advance: undefined });
const routes = [...localRoutes, ...controls];

/** The path and body of a call that changes something, by its route. */
const sent: Readonly<Record<string, readonly [path: string, body?: object]>> = {
  "POST /_connect/{endpoint_id}": [`/_connect/${primary}`],
  "PUT /_admin/organizations/{org_id}/members/{account_id}": [
    "/_admin/organizations/org-shop/members/acc-eve",
    { role: "admin" },
  ],
  "DELETE /_admin/organizations/{org_id}/members/{account_id}": ["/_admin/organizations/org-shop/members/acc-bob"],
  "PUT /_admin/projects/{project_id}/owner": ["/_admin/projects/ana-own/owner", { owner: "acc-eve" }],
  "PUT /_faults": ["/_faults", [{ kind: "500" }]],
  "POST /_reset": ["/_reset"],
  "POST /_clock/advance": ["/_clock/advance", { seconds: 3600 }],
};

/** A call of each route that needs no key. */
const calls: readonly ServiceCall[] = routes.map(({ method, path }) => {
  const [target, body] = sent[`${method} ${path}`] ?? [];
  if (target === undefined) throw new Error(`test/service/http/local-routes.test.ts has no call of ${method} ${path}`);
  return { method, path: target, ...(body && { body: JSON.stringify(body) }) };
});

/** All that a call could change. */
const state = () => [
  shop.time.now(),
  shop.get(primary),
  ...["members", "projects", "api_keys"].map((table) => shop.database.all(`SELECT * FROM ${table}`)),
];

const local = { host: "localhost:8090" };
const refused: readonly [string, Pick<ServiceCall, "remote" | "headers" | "httpVersion">][] = [
  ["as nginx sends it that is told nothing of headers", { remote: "127.0.0.1", headers: local, httpVersion: "1.0" }],
  ["from another machine", { remote: "192.0.2.7", headers: local }],
  ["from a sidecar of Istio, which adds no header to TCP", { remote: "127.0.0.6", headers: local }],
  ["from such a sidecar, where the service listens with IPv6 too", { remote: "::ffff:127.0.0.6", headers: local }],
  ["under a foreign name that was made to point here", { remote: "127.0.0.1", headers: { host: "evil.example:8090" } }],
  ["under a name that only begins like a loopback one", { remote: "127.0.0.1", headers: { host: "127.0.0.1.nip.io" } }],
  [
    "from another machine with an administrator's key",
    { remote: "192.0.2.7", headers: { ...local, authorization: `Bearer ${keys.shop}` } },
  ],
  ...[
    "localhost.",
    "127.0.0.1.",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "0.0.0.0",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::1%25lo]",
    "me@localhost",
    "localhost:8090:8090",
    "localhost, evil.example",
    "evil.example#localhost",
    "localhost.evil.example",
    "127.0.0.1:8090.evil.example",
  ].map((host): [string, Pick<ServiceCall, "remote" | "headers">] => [
    `under ${host}, which is another spelling, or a name that anybody can have`,
    { remote: "127.0.0.1", headers: { host } },
  ]),
  ["without a name", { remote: "127.0.0.1", headers: {} }],
  ["from a page of another site", { remote: "127.0.0.1", headers: { ...local, origin: "http://evil.example" } }],
  ["from a page of another port", { remote: "127.0.0.1", headers: { ...local, origin: "http://localhost:3000" } }],
  ["from a page without an origin", { remote: "127.0.0.1", headers: { ...local, origin: "null" } }],
  ["as the browser says of another site", { remote: "::1", headers: { ...local, "sec-fetch-site": "cross-site" } }],
  ...[
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-forwarded-port",
    "x-forwarded",
    "x_forwarded_for",
    "x-original-forwarded-for",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "cf-connecting-ip",
    "true-client-ip",
    "fastly-client-ip",
    "cdn-loop",
    "x-envoy-external-address",
    "x-original-url",
    "x-original-host",
    "x-rewrite-url",
    "x-proxy-id",
    "x-vercel-forwarded-for",
    "fly-forwarded-proto",
    "http_x_forwarded_for",
    "x-nf-client-connection-ip",
    "x-appengine-user-ip",
    "x-azure-socketip",
    "x-azure-ref",
    "x-remote-addr",
    "x-remote-ip",
    "x-originating-ip",
    "x-arr-log-id",
    "x-amzn-trace-id",
    "cf-ray",
  ].map((name): [string, Pick<ServiceCall, "remote" | "headers">] => [
    `through a proxy that adds ${name}`,
    { remote: "127.0.0.1", headers: { ...local, [name]: "192.0.2.7" } },
  ]),
];

const spellings = [
  (path: string) => path.replace("/_", "/%5f"),
  (path: string) => path.replace("/_", "/%5F"),
  (path: string) => path.replace(/^\/_(.)/, (_, first: string) => `/_%${first.charCodeAt(0).toString(16)}`),
  (path: string) => path.replace("/_", "//_"),
  (path: string) => path.replace("/_", "/./_"),
  (path: string) => path.replace("/_", "/\uff3f"),
  (path: string) => path.replace("/_", "/%255f"),
];

it("each call that needs no key begins in a way that the check of the caller knows", () => {
  const paths = routes.map(({ path }) => path);
  expect(paths.filter((path) => !path.startsWith("/_"))).toEqual([]);
  expect(paths).toContain("/_faults");
});

it("a call that controls the service carries the request id of its client, as every other", () => {
  const headers = { ...local, "x-request-id": "mine-1" };
  const reply = shop.core.call({ method: "PUT", path: "/_faults", headers, body: "[]" });
  expect(reply).toMatchObject({ status: 204, headers: { "x-request-id": "mine-1" } });
});

it.each([
  [
    "PUT",
    "/_admin/organizations/org-shop/members/acc-eve",
    { role: "viewer" },
    200,
    { organization: "org-shop", account: "acc-eve", role: "viewer" },
  ],
  ["DELETE", "/_admin/organizations/org-shop/members/acc-bob", undefined, 204, {}],
  ["PUT", "/_admin/projects/ana-own/owner", { owner: "org-shop" }, 200, { project: "ana-own", owner: "org-shop" }],
  ["PUT", "/_admin/projects/ana-own/owner", { owner: "acc-bob" }, 200, { project: "ana-own", owner: "acc-bob" }],
])("administration by %s %s answers what it made of whom", (method, path, body, status, answered) => {
  const answer = shop.send(undefined, `${method} ${path}`, body);
  expect([answer.status, answer.body]).toEqual([status, answered]);
});

it.each([
  ["PUT", "/_admin/organizations/org-shop/members/acc-eve", { role: "owner" }],
  ["PUT", "/_admin/organizations/org-shop/members/acc-eve", { role: "viewer", more: 1 }],
  ["PUT", "/_admin/projects/ana-own/owner", { owner: "" }],
  ["PUT", "/_admin/projects/ana-own/owner", { owner: "x".repeat(61) }],
  ["POST", "/_clock/advance", { seconds: -1 }],
  ["POST", "/_clock/advance", { seconds: 315_360_001 }],
  ["POST", `/_connect/${primary}?seconds=604801`, undefined],
  ["POST", `/_connect/${primary}?seconds=-1`, undefined],
  ["POST", `/_connect/${primary}?seconds=0.0001`, undefined],
])("administration by %s %s with %j is refused", (method, path, body) => {
  expect(shop.send(undefined, `${method} ${path}`, body).status).toBe(400);
});

it("a clock that is advanced by a part of a millisecond goes on by whole ones, as the store keeps no others", () => {
  const before = shop.time.now();
  expect(shop.send(undefined, "POST /_clock/advance", { seconds: 1 / 3 }).status).toBe(200);
  expect(shop.time.now()).toBe(before + 333);
  expect([shop.ana("POST /projects", { project: {} }).status, shop.errors]).toEqual([201, []]);
});

it("a client connects for at most a week, by the millisecond", () => {
  const status = (seconds: string) => shop.send(undefined, `POST /_connect/${primary}?seconds=${seconds}`).status;
  expect([status("604800"), status("0.001")]).toEqual([200, 200]);
});

describe.each(calls)("$method $path", (call) => {
  it.each(spellings.map((spell) => [spell(call.path)]))("a local call has no other spelling, such as %s", (path) => {
    const before = state();
    for (const [, from] of refused) {
      expect([403, 404]).toContain(shop.core.call({ ...call, path, ...from }).status);
    }
    expect(state()).toEqual(before);
  });

  it.each(refused)("a local call is refused %s, and changes nothing", (_, from) => {
    const before = state();
    const reply = shop.core.call({ ...call, ...from });
    expect([reply.status, reply.body]).toEqual([403, expect.stringContaining("to this machine alone")]);
    expect(state()).toEqual(before);
    const probe = { method: "GET", path: "/api/v2/auth", headers: { authorization: `Bearer ${keys.ana}` } };
    expect(shop.core.exchange(probe)).toMatchObject({ reply: { status: 200 } });
  });

  it.each([
    ["127.0.0.1", "localhost:8090"],
    ["::ffff:127.0.0.1", "127.0.0.1:8090"],
    ["::1", "[::1]:8090"],
  ])("a local call is answered to %s under %s", (remote, host) => {
    expect(shop.core.call({ ...call, remote, headers: { host } }).status).toBeLessThan(300);
    const headers = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
    const again = { method: "POST", path: `/_connect/${primary}`, remote, headers };
    expect(shop.core.call(again).status).toBe(200);
  });
});

it("a body of a call that needs no key is kept for this machine alone", () => {
  const call = { method: "PUT", path: "/_faults", headers: local };
  expect(shop.core.bodyRoom({ ...call, remote: "127.0.0.1" })).toEqual({ holder: "127.0.0.1", longest: 1_000_000 });
  for (const [, from] of refused) expect(shop.core.bodyRoom({ ...call, ...from })).toBeUndefined();
});
