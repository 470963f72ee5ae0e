import type { ServerResponse } from "node:http";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EndpointLister } from "../../../src/operator/project/endpoint-lister.ts";
import { httpServiceTransport } from "../../../src/operator/service-client/http-transport.ts";
import { mostBytes } from "../../../src/operator/service-client/transport.ts";
import { endpoint } from "../../support/builders.ts";
import { eventually } from "../../support/eventually.ts";
import { realClock } from "../../support/real-clock.ts";
import { clientOf, key } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { HostileServer, json } from "../kube/hostile-server.ts";

// The operator's own client and transport, over the network, against a service that means harm.

const forever = new AbortController().signal;
let service: HostileServer;
let transport: ReturnType<typeof httpServiceTransport>;
let client: ReturnType<typeof clientOf>;

beforeEach(async () => {
  service = new HostileServer();
  const baseURL = `${await service.start()}/api/v2`;
  transport = httpServiceTransport({ userAgent: "a-test", now: () => Date.UTC(2026, 0, 1) });
  client = clientOf(transport, realClock, { account: { baseURL, key } });
});

afterEach(async () => {
  await service.stop();
  await transport.close();
});

const list = () => client.listEndpoints("shop", forever);
const endpoints = (...items: unknown[]) => ({ endpoints: items });

/** Sends a megabyte after another until the other side hangs up; answers how many it took. */
function sendWithoutEnd(response: ServerResponse): { megabytes: number } {
  const taken = { megabytes: 0 };
  const megabyte = Buffer.alloc(1024 * 1024, " ");
  const more = () => {
    if (response.destroyed || taken.megabytes >= 1024) return;
    taken.megabytes += 1;
    response.write(megabyte, () => setImmediate(more));
  };
  response.on("error", () => undefined);
  response.writeHead(200, { "content-type": "application/json" });
  more();
  return taken;
}

test.each([
  ["a list of endpoints", () => list(), mostBytes.endpoints],
  ["any other answer", () => client.getEndpoint("shop", "ep-one", forever), mostBytes.other],
  ["the answer to a write", () => client.patchEndpoint("shop", "ep-one", { endpoint: {} }, forever), mostBytes.other],
])("a body without end is read no further than allowed: %s", async (_, call, bytes) => {
  const sent: { megabytes: number }[] = [];
  service.behaviour = (__, response) => sent.push(sendWithoutEnd(response));
  expect(await call()).toMatchObject({ message: expect.stringContaining("larger than") });
  await eventually("the connection to be closed", () => service.open === 0 || undefined);
  // What the two kernels hold between them has left the server too.
  for (const { megabytes } of sent) expect(megabytes).toBeLessThan(bytes / 1024 / 1024 + 16);
});

test("the bodies without end of many projects at once are bounded together, and a small answer beside them is read", async () => {
  service.behaviour = (request, response) => {
    if (request.url?.includes("/small/") === true) json(response, 200, endpoints(endpoint()));
    else sendWithoutEnd(response);
  };
  const large = Array.from({ length: 16 }, (_, n) => client.listEndpoints(`large-${n}`, forever));
  const small = await clientOf(transport, realClock, { account: client.account }).listEndpoints("small", forever);
  const said = (await Promise.all(large)).map((answer) => ("message" in answer ? answer.message : answer.kind));
  expect(small.kind).toBe("ok");
  expect(said.filter((message) => message.includes("bytes together")).length).toBeGreaterThan(8);
  expect(said.filter((message) => !message.includes("larger than"))).toEqual([]);
});

describe("an answer that is no use", () => {
  const deep = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`;
  test.each<[string, string]>([
    ["one id twice", JSON.stringify(endpoints(endpoint(), endpoint()))],
    ["an id without ep-", JSON.stringify(endpoints(endpoint({ id: "quiet-river" })))],
    ["an id that leads elsewhere", JSON.stringify(endpoints(endpoint({ id: "ep-/../../../_admin" })))],
    ["an endless id", JSON.stringify(endpoints(endpoint({ id: `ep-${"x".repeat(5000)}` })))],
    ["a list for the branch", JSON.stringify(endpoints({ ...endpoint(), branch_id: ["br-one"] }))],
    ["a number for the type", JSON.stringify(endpoints({ ...endpoint(), type: 7 }))],
    ["an object for the list", JSON.stringify({ endpoints: { length: 1, 0: endpoint() } })],
    ["a text for the list", JSON.stringify({ endpoints: "[]" })],
    ["lists within lists", `{"endpoints":[${JSON.stringify(endpoint()).replace("{", `{"more":${deep(100_000)},`)}]}`],
    ["only lists within lists", deep(1_000_000)],
    ["a list that never closes", "[".repeat(1_000_000)],
  ])("an answer that is no use is distinguished from a list: %s", async (_, text) => {
    service.behaviour = (__, response) => response.end(text);
    const answer = await list();
    expect(answer).toMatchObject({ kind: "unavailable" });
    expect(JSON.stringify(answer).length).toBeLessThan(400);
  });

  test.each<[string, string, string]>([
    ["a host of a megabyte", "host", JSON.stringify(endpoints(endpoint({ host: "x".repeat(1_000_000) })))],
    [
      "a size beyond all numbers",
      "autoscaling_limit_max_cu",
      JSON.stringify(endpoints(endpoint())).replace('"id"', '"autoscaling_limit_max_cu":1e308,"id"'),
    ],
    ["a number for a text", "host", JSON.stringify(endpoints({ ...endpoint(), host: 7 }))],
    [
      "a text for a size",
      "autoscaling_limit_min_cu",
      JSON.stringify(endpoints({ ...endpoint(), autoscaling_limit_min_cu: "1" })),
    ],
  ])("hides one field and not the list: %s", async (_, field, text) => {
    service.behaviour = (__, response) => response.end(text);
    const whole: Record<string, unknown> = { ...endpoint(), unreadable: [field] };
    const { [field]: ___, ...rest } = whole;
    expect(await list()).toMatchObject({ kind: "ok", value: [rest] });
    expect(JSON.stringify(await list()).length).toBeLessThan(400);
  });

  test("brackets within a text are no depth", async () => {
    const settings = { pg_settings: { search_path: `${"[{".repeat(500)}"\\` } };
    service.behaviour = (_, response) => json(response, 200, endpoints(endpoint({ settings })));
    expect(await list()).toMatchObject({ kind: "ok", value: [{ settings }] });
  });

  test("members that would change what an object inherits are left out", async () => {
    const spoilt = JSON.stringify(endpoints(endpoint({ settings: { pg_settings: { a: "1" } } })))
      .replace('"id"', '"__proto__":{"host":{"length":1},"disabled":"yes"},"constructor":{"prototype":null},"id"')
      .replace('"a"', '"__proto__":{"polluted":"yes"},"toString":"1","a"');
    service.behaviour = (_, response) => response.end(spoilt);
    const answer = await list();
    const [read] = answer.kind === "ok" ? answer.value : [];
    expect(read).toMatchObject({ id: "ep-one", settings: { pg_settings: { a: "1" } } });
    expect([read?.host, read?.disabled, Object.getPrototypeOf(read ?? {})]).toEqual([
      undefined,
      undefined,
      Object.prototype,
    ]);
    expect("polluted" in {}).toBe(false);
  });

  test("headers without end are no answer", async () => {
    service.behaviour = (_, response) => {
      const many = Object.fromEntries(Array.from({ length: 100 }, (__, n) => [`x-${n}`, "x".repeat(1000)]));
      response.writeHead(200, many).end("{}");
    };
    expect(await list()).toMatchObject({ kind: "unavailable", message: expect.stringContaining("Headers Overflow") });
  });
});

describe("an answer about another endpoint", () => {
  beforeEach(() => {
    service.behaviour = (_, response) =>
      json(response, 200, { endpoint: endpoint({ id: "ep-theirs" }), operations: [] });
  });

  test("proves nothing where one was asked for", async () => {
    expect((await client.getEndpoint("shop", "ep-ours", forever)).kind).toBe("unavailable");
  });

  test.each([
    ["a change", () => client.patchEndpoint("shop", "ep-ours", { endpoint: {} }, forever)],
    ["a deletion", () => client.deleteEndpoint("shop", "ep-ours", forever)],
  ])("leaves open what became of %s", async (_, call) => {
    expect((await call()).kind).toBe("ambiguous");
  });
});

test("pages that bring ever new projects are given up, and prove nothing", async () => {
  service.behaviour = (_, response) => {
    const page = service.requests.length;
    json(response, 200, { projects: [{ id: `p-${page}` }], pagination: { cursor: `${page}` } });
  };
  expect(await client.listProjects(undefined, forever)).toMatchObject({ kind: "ok", value: { complete: false } });
  expect(service.requests).toHaveLength(50);
});

test("pages with cursors that go in a circle are read once", async () => {
  service.behaviour = (_, response) => {
    const page = service.requests.length;
    json(response, 200, { projects: [{ id: `p-${page % 3}` }], pagination: { cursor: `${page % 3}` } });
  };
  expect((await client.listProjects(undefined, forever)).kind).toBe("ok");
  expect(service.requests.length).toBeLessThan(6);
});

test("pages without end are read no further than the largest list, and prove nothing", async () => {
  const text = "x".repeat(1000);
  service.behaviour = (_, response) => {
    const page = service.requests.length;
    const projects = Array.from({ length: 3500 }, (__, n) => ({ id: `p-${page}-${n}`, name: text }));
    json(response, 200, { projects, pagination: { cursor: `${page}` } });
  };
  expect(await client.listProjects(undefined, forever)).toMatchObject({ kind: "ok", value: { complete: false } });
  expect(service.requests).toHaveLength(5);
});

test.each([
  "-1",
  "-1e12",
  "1e12",
  "Infinity",
  "1e400",
  "NaN",
  "0x10",
  "Thu, 01 Jan 1970 00:00:00 GMT",
  "Fri, 31 Dec 9999 23:59:59 GMT",
  "7, 8",
  "for ever".repeat(20),
])("a pause that makes no sense (%s) is none, or an hour at the most", async (header) => {
  service.behaviour = (_, response) => json(response, 429, { code: "", message: "no" }, { "retry-after": header });
  const answer = await list();
  const asked = "retryAfterMs" in answer ? (answer.retryAfterMs ?? 0) : 0;
  expect(answer.kind).toBe("rateLimited");
  expect(asked).toBeGreaterThanOrEqual(0);
  expect(asked).toBeLessThanOrEqual(3_600_000);
});

test("after any bad list the next good one is used, and the Computes that wait for it are enqueued", async () => {
  const woken: string[] = [];
  const stop = new AbortController();
  const watcher = new EndpointLister({
    log: silentLogger,
    client,
    projectID: "shop",
    clock: realClock,
    refreshIntervalMs: () => 50,
    enqueue: (uids) => woken.push(...uids),
    signal: stop.signal,
  });
  const good = JSON.stringify(endpoints(endpoint()));
  const deep = good.replace('"id"', `"more":${"[".repeat(50_000)}${"]".repeat(50_000)},"id"`);
  service.behaviour = (_, response) => response.end(service.requests.length === 2 ? deep : good);
  watcher.use("a", "ep-one");
  await eventually("a list after the bad one", () => service.requests.length > 3 || undefined);
  woken.length = 0;
  watcher.listedAfter(realClock.monotonic(), "a");
  await eventually("the Compute to be woken", () => woken.includes("a") || undefined);
  expect(watcher.listing?.endpoints).toHaveLength(1);
  stop.abort();
  watcher.stop();
});
