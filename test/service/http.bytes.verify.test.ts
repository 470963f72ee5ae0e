import { describe, expect, it, test } from "vitest";
import { consoleRoutes } from "../../src/service/console/routes.ts";
import { controlRoutes } from "../../src/service/http/control-routes.ts";
import { localRoutes } from "../../src/service/http/local-routes.ts";
import { apiRoutes, unservedRoutes } from "../../src/service/http/routes.ts";
import { Shares } from "../../src/service/sharing/shares.ts";
import { Visitor } from "./console/visitor.ts";
import { bodies, oddHeaders, texts } from "./fuzz/bytes.ts";
import { cpuOf, cpuSince, limit, parseZeros } from "./fuzz/work.ts";
import { ListeningShop } from "./support/listening.ts";
import { keys, main, primary, project } from "./support/shop.ts";
import { Wire } from "./support/wire.ts";

const options = { timeScale: 1e6, faults: true, branchRecovery: true };
const known: Readonly<Record<string, string>> = {
  project_id: project,
  branch_id: main,
  endpoint_id: primary,
  org_id: "org-shop",
  database_name: "neondb",
  role_name: "neondb_owner",
};

interface Called {
  method: string;
  path: string;
}

const under = (root: string) => (route: Called) => ({ method: route.method, path: `${root}${route.path}` });
const controls = { setFaults: () => {}, reset: () => {}, advance: () => "" };
const open = [
  "GET /healthz",
  "GET /api/v2/openapi.json",
  "POST /app/sign-in",
  "POST /app/sign-out",
  "POST /sql",
  "OPTIONS /sql",
  "GET /v2",
  "GET /app/changes",
  "GET /app/none",
  "PUT /none",
].map((line) => ({ method: line.split(" ")[0] ?? "", path: line.split(" ")[1] ?? "" }));
const routes: readonly Called[] = [
  ...apiRoutes({ strictSpec: false }).map(under("/api/v2")),
  ...unservedRoutes({ strictSpec: false }).slice(0, 3).map(under("/api/v2")),
  ...localRoutes,
  ...controlRoutes(controls),
  ...consoleRoutes(),
  ...open,
];

/** The parameters of any query that is looked at. */
const parameters = `
  cursor limit search sort sort_by sort_order org_id state page timeout next lsn timestamp base_branch_id
  db_name format branch_id endpoint_id database_name role_name pooled hard_delete include_deleted seconds
  from to granularity address __proto__
`
  .trim()
  .split(/\s+/);

/** A request on a connection of its own. */
function requestOf({ method, path }: Called, lines: readonly string[], body: Buffer = Buffer.alloc(0)): Buffer {
  const head = [`${method} ${path} HTTP/1.1`, ...lines, "Connection: close", `Content-Length: ${body.length}`];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}

function filled(path: string, value?: string): string {
  return path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => value ?? known[name] ?? "1");
}

/** The fields of the console's forms. */
const fields = `
  name project owner parent compute role database sql branch shown min max suspend seconds login writes key
  account next confirm
`
  .trim()
  .split(/\s+/);

/** Somebody who has signed in: the headers, and the token of the forms. */
interface SignedIn {
  lines: readonly string[];
  token: string;
}

/** Every kind of bytes that a route may be sent. */
function requestsTo(route: Called, { lines, token }: SignedIn): [kind: string, request: Buffer][] {
  const path = filled(route.path);
  const isForm = path.startsWith("/app/");
  const typed = [...lines, `Content-Type: application/${isForm ? "x-www-form-urlencoded" : "json"}`];
  const begin = Buffer.from(isForm ? `token=${token}&` : "");
  const sent = Object.entries(bodies).map(([kind, body]): [string, Buffer] => [
    `the body ${kind}`,
    requestOf({ ...route, path }, typed, Buffer.concat([begin, body])),
  ]);
  const asked = Object.entries(texts).flatMap(([kind, text]): [string, Buffer][] => {
    const value = encodeURIComponent(text);
    const query = parameters.map((name) => `${name}=${value}`).join("&");
    const form = fields.map((name) => `${name}=${value}`).join("&");
    const raw = Buffer.from(text)
      .toString("latin1")
      .replaceAll(/[\0\r\n ]/g, "");
    return [
      [`the query ${kind}`, requestOf({ ...route, path: `${path}?${query}` }, lines)],
      [`the query ${kind}, in bytes`, requestOf({ ...route, path: `${path}?search=${raw}&%=%ff&a[]=` }, lines)],
      [`the path ${kind}`, requestOf({ ...route, path: filled(route.path, value) }, typed, begin)],
      [`the fields ${kind}`, requestOf({ ...route, path }, typed, Buffer.concat([begin, Buffer.from(form)]))],
    ];
  });
  const headed = Object.entries(oddHeaders).flatMap(([kind, odd]): [string, Buffer][] => [
    [`the headers ${kind}`, requestOf({ ...route, path }, [...lines, ...odd], Buffer.from("{}"))],
    [`the headers ${kind} alone`, requestOf({ ...route, path }, ["Host: localhost", ...odd], Buffer.from("{}"))],
  ]);
  return [...sent, ...asked, ...headed];
}

/** The status of the answer; `undefined` where the connection was closed without one. */
async function statusOf(shop: ListeningShop, request: Buffer): Promise<number | undefined> {
  const wire = new Wire(shop);
  wire.socket.end(request);
  await wire.ended;
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(wire.received) ?? [];
  return status === undefined ? undefined : Number(status);
}

const reference = cpuOf(parseZeros, 32);

/** What is wrong with the answer to a request; one quick run of ten is enough, as garbage may be collected in one. */
async function problemOf(shop: ListeningShop, request: Buffer): Promise<string | undefined> {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 10 && least > limit * reference; run += 1) {
    const began = process.threadCpuUsage();
    const status = await statusOf(shop, request);
    least = Math.min(least, cpuSince(began));
    // The answer of a call of the public API that is not served.
    if (status === undefined || (status >= 500 && status !== 501)) return String(status);
  }
  return least > limit * reference ? `${(least / reference).toFixed(1)} times the reference` : undefined;
}

describe("every kind of bytes, sent over HTTP", () => {
  test.each(routes)("$method $path is answered below 500, and soon, and holds nothing afterwards", async (route) => {
    const [bytes, connections] = [new Shares(), new Shares(1000)];
    await using shop = await ListeningShop.start(options, { bytes, connections });
    const { cookie = "", token } = new Visitor(shop.core).signIn("acc-ana");
    const lines = ["Host: localhost", `Authorization: Bearer ${keys.ana}`, `Cookie: ${cookie}`];
    const wrong: string[] = [];
    for (const [kind, request] of requestsTo(route, { lines, token })) {
      const problem = await problemOf(shop, request);
      if (problem !== undefined) wrong.push(`${kind}: ${problem}`);
    }
    expect(wrong).toEqual([]);
    expect(await statusOf(shop, requestOf({ method: "GET", path: "/healthz" }, ["Host: localhost"]))).toBe(200);
    await expect.poll(() => [bytes.all, connections.all]).toEqual([0, 0]);
  });
});

/** Calls that store a text, `@`. */
const storing: readonly (readonly [line: string, body: string])[] = [
  ["POST /projects", '{"project":{"name":"@"}}'],
  [`PATCH /projects/${project}`, '{"project":{"name":"@"}}'],
  [`POST /projects/${project}/branches`, '{"branch":{"name":"@"},"annotation_value":{"@":"@"}}'],
  [`PATCH /projects/${project}/branches/${main}`, '{"branch":{"name":"@"}}'],
  [`POST /projects/${project}/branches/${main}/roles`, '{"role":{"name":"@"}}'],
  [`POST /projects/${project}/branches/${main}/databases`, '{"database":{"name":"@","owner_name":"neondb_owner"}}'],
  [`PATCH /projects/${project}/endpoints/${primary}`, '{"endpoint":{"name":"@"}}'],
  [`PATCH /projects/${project}/endpoints/${primary}`, '{"endpoint":{"settings":{"pg_settings":{"my.own":"@"}}}}'],
  ["POST /api_keys", '{"key_name":"@"}'],
  ["POST /organizations/org-shop/api_keys", '{"key_name":"@"}'],
];

/** Forms that store a name. */
const forms = ["/app/projects", "/app/keys", `/app/projects/${project}/branches/${main}/roles`];

/** The lists that show what was stored. */
const lists = [
  "/projects?limit=400",
  "/projects?org_id=org-shop&limit=400",
  `/projects/${project}`,
  `/projects/${project}/branches`,
  `/projects/${project}/branches/${main}/roles`,
  `/projects/${project}/branches/${main}/databases`,
  `/projects/${project}/endpoints`,
  "/api_keys",
  "/organizations/org-shop/api_keys",
];

it("a text that is stored is the one that was sent, whichever call or form stores it", async () => {
  await using shop = await ListeningShop.start(options);
  const own = { headers: { host: new URL(shop.baseURL).host } };
  const visitor = new Visitor(shop.core, own).signIn("acc-ana");
  visitor.get("/app/keys");
  const authorization = `Bearer ${keys.ana}`;
  const base = shop.baseURL;
  const [sent, stored] = [new Set<string>(), new Set<string>()];
  const accepted = new Map<string, number>();
  const send = async (line: string, url: string, method: string, headers: Record<string, string>, body: string) => {
    const call = async () => (await fetch(url, { method, headers, body, redirect: "manual" })).status;
    let status = await call();
    // Operations of earlier calls take milliseconds, and a fast machine calls before they end.
    for (let again = 0; status === 423 && again < 200; again += 1) status = await call();
    expect(status, `${line} ${body}`).toBeLessThan(500);
    if (status < 400) accepted.set(line, (accepted.get(line) ?? 0) + 1);
  };
  const isMarked = /^m\d+\./;
  let count = 0;
  for (const text of Object.values(texts)) {
    for (const [line, body] of storing) {
      count += 1;
      const marked = `m${count}.${text}.`;
      sent.add(marked);
      const [method = "", path = ""] = line.split(" ");
      const json = body.replaceAll("@", () => JSON.stringify(marked).slice(1, -1));
      await send(`${line} ${body}`, `${base}${path}`, method, { authorization }, json);
    }
    for (const path of forms) {
      count += 1;
      const marked = `m${count}.${text}.`;
      sent.add(marked);
      const headers = {
        cookie: visitor.cookie ?? "",
        "content-type": "application/x-www-form-urlencoded",
      };
      const form = new URLSearchParams({ token: visitor.token, name: marked, login: "true" });
      await send(path, new URL(path, base).href, "POST", headers, form.toString());
    }
    for (const path of lists) {
      const shown = await (await fetch(`${base}${path}`, { headers: { authorization } })).text();
      JSON.parse(shown, (name: string, value: unknown) => {
        for (const one of [name, value]) if (typeof one === "string" && isMarked.test(one)) stored.add(one);
        return value;
      });
    }
  }
  expect([...stored].filter((text) => !sent.has(text))).toEqual([]);
  expect([...storing.map((call) => call.join(" ")), ...forms].filter((call) => (accepted.get(call) ?? 0) < 5)).toEqual(
    [],
  );
});
