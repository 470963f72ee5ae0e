import { describe, expect, test } from "vitest";
import type { Failure } from "../../../src/operator/service-client/answer.ts";
import { RequestBudget } from "../../../src/operator/service-client/budget.ts";
import { deadlines } from "../../../src/operator/service-client/exchange.ts";
import { NoResponseError, type ServiceResponse } from "../../../src/operator/service-client/transport.ts";
import { endpoint, operation } from "../../support/builders.ts";
import { clientOf, json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const forever = new AbortController().signal;

function setUp(answer: () => ServiceResponse | Promise<ServiceResponse>) {
  const clock = new VirtualClock();
  const service = new ScriptedService(answer);
  return { clock, service, client: clientOf(service, clock) };
}

test("a list of endpoints reads loosely: new fields, new values and nulls pass", async () => {
  const odd = {
    ...endpoint({ current_state: "dreaming" }),
    of_next_year: { a: 1 },
    pending_state: null,
    last_active: null,
  };
  const { client } = setUp(() => json(200, { endpoints: [odd], more: true }));
  const answer = await client.listEndpoints("shop", forever);
  expect(answer).toMatchObject({ kind: "ok", value: [{ id: "ep-one", current_state: "dreaming" }] });
});

test.each([
  ["no endpoints", {}],
  ["endpoints that are no list", { endpoints: {} }],
  ["an item without id", { endpoints: [endpoint(), { ...endpoint(), id: undefined }] }],
  ["an item with an empty id", { endpoints: [endpoint({ id: "" })] }],
  ["an item that is null", { endpoints: [null] }],
  ["a list", []],
  ["null", null],
])("a list with %s is unavailable, and says where it makes no sense", async (_, body) => {
  const { client } = setUp(() => json(200, body));
  expect(await client.listEndpoints("shop", forever)).toMatchObject({
    kind: "unavailable",
    message: expect.stringContaining("an invalid answer"),
  });
});

describe("a write", () => {
  const calls = {
    create: (client: ReturnType<typeof clientOf>) => client.createEndpoint("shop", { endpoint: {} }, forever),
    patch: (client: ReturnType<typeof clientOf>) => client.patchEndpoint("shop", "ep-one", { endpoint: {} }, forever),
    delete: (client: ReturnType<typeof clientOf>) => client.deleteEndpoint("shop", "ep-one", forever),
    restart: (client: ReturnType<typeof clientOf>) => client.restartEndpoint("shop", "ep-one", forever),
  };

  test.each(Object.entries(calls))("%s tells endpoint and operations, and is sent once", async (_, call) => {
    const { client, service } = setUp(() => json(200, { endpoint: endpoint(), operations: [operation()] }));
    expect(await call(client)).toMatchObject({
      kind: "ok",
      value: { endpoint: { id: "ep-one" }, operations: [{ id: "op-1" }] },
    });
    expect(service.requests).toHaveLength(1);
  });

  test.each(Object.entries(calls))("%s that gets no answer is ambiguous, and not sent again", async (_, call) => {
    const { client, service } = setUp(() => Promise.reject(new NoResponseError("ECONNRESET")));
    expect((await call(client)).kind).toBe("ambiguous");
    expect(service.requests).toHaveLength(1);
  });

  test.each([
    ["HTML", { status: 200, body: undefined, json: false }],
    ["another body", json(200, { ok: true })],
    ["a redirect", { status: 302, body: undefined, json: false }],
  ])("a write that is answered with %s is ambiguous", async (_, answer) => {
    const { client } = setUp(() => answer);
    expect((await calls.patch(client)).kind).toBe("ambiguous");
    expect((await calls.create(client)).kind).toBe("ambiguous");
  });

  test("a delete that finds nothing is done", async () => {
    const { client } = setUp(() => ({ status: 204, body: undefined, json: false }));
    expect(await calls.delete(client)).toEqual({
      kind: "ok",
      status: 204,
      value: { endpoint: undefined, operations: [] },
    });
  });

  test("a write is not sent by a process that no longer leads", async () => {
    const clock = new VirtualClock();
    const service = new ScriptedService();
    const beforeWrite = () => {
      throw new Error("no longer the leader");
    };
    const client = clientOf(service, clock, { beforeWrite });
    await expect(calls.create(client)).rejects.toThrow("no longer the leader");
    expect((await client.listEndpoints("shop", forever)).kind).toBe("ok");
    expect(service.asked).toEqual(["GET /projects/shop/endpoints"]);
  });

  test("a write has a shorter deadline than the time between a lost lease and its end", () => {
    expect(deadlines.write).toBeLessThan(15_000 - 10_000);
  });
});

test("ids are encoded: none leads to another path", async () => {
  const { client, service } = setUp(() => json(200, { endpoint: endpoint() }));
  await client.getEndpoint("../admin", "ep?x=1#y", forever);
  expect(service.asked).toEqual(["GET /projects/..%2Fadmin/endpoints/ep%3Fx%3D1%23y"]);
});

test("projects are read until a page is empty, lacks a cursor, repeats it, or brings nothing new", async () => {
  const pages = [
    json(200, { projects: [{ id: "a" }], pagination: { cursor: "1" } }),
    json(200, { projects: [{ id: "b" }], pagination: { cursor: "2" } }),
    json(200, { projects: [{ id: "b" }], pagination: { cursor: "3" } }),
  ];
  const { client, service } = setUp(() => pages[Math.min(service.requests.length, 3) - 1] ?? refusal(500));
  expect(await client.listProjects("org-1", forever)).toMatchObject({
    kind: "ok",
    value: { projects: [{ id: "a" }, { id: "b" }], complete: true },
  });
  expect(service.requests.map(({ query }) => query)).toEqual([
    { limit: "400", org_id: "org-1" },
    { limit: "400", org_id: "org-1", cursor: "1" },
    { limit: "400", org_id: "org-1", cursor: "2" },
  ]);
});

test("projects are not complete where the service says so, or never comes to an end", async () => {
  const partial = setUp(() => json(200, { projects: [{ id: "a" }], unavailable_project_ids: ["b"] }));
  expect(await partial.client.listProjects(undefined, forever)).toMatchObject({ value: { complete: false } });
  const pages = [
    json(200, { projects: [{ id: "a" }], unavailable_project_ids: ["b"], pagination: { cursor: "1" } }),
    json(200, { projects: [{ id: "c" }] }),
  ];
  const first = setUp(() => pages[first.service.requests.length - 1] ?? refusal(500));
  expect(await first.client.listProjects(undefined, forever)).toMatchObject({
    value: { projects: [{ id: "a" }, { id: "c" }], complete: false },
  });
  const endless = setUp(() => {
    const page = endless.service.requests.length;
    return json(200, { projects: [{ id: `p-${page}` }], pagination: { cursor: `${page}` } });
  });
  expect(await endless.client.listProjects(undefined, forever)).toMatchObject({ value: { complete: false } });
  expect(endless.service.requests).toHaveLength(50);
});

test("a page of projects that fails fails the whole", async () => {
  const { client, service } = setUp(() =>
    service.requests.length === 1 ? json(200, { projects: [{ id: "a" }], pagination: { cursor: "1" } }) : refusal(500),
  );
  expect((await client.listProjects(undefined, forever)).kind).toBe("unavailable");
});

test("a request draws from the budget, and a pause that the service asks for closes it for all", async () => {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute: 60, burst: 2 });
  const service = new ScriptedService(() => refusal(429, "slow down"));
  service.script = () => ({ ...refusal(429, "slow down"), retryAfterMs: 30_000 });
  const client = clientOf(service, clock, { budget });
  await client.listEndpoints("shop", forever);
  expect(budget.available).toBe(0);
  void client.listEndpoints("shop", forever);
  await clock.advance(29_999);
  expect(service.requests).toHaveLength(1);
  await clock.advance(1);
  expect(service.requests).toHaveLength(2);
});

test.each([
  ["a proxy's 503", { status: 503, json: false, body: undefined, retryAfterMs: 3_600_000 }],
  ["a proxy's 429 in JSON", { ...json(429, { error: "slow down" }), retryAfterMs: 3_600_000 }],
])("the budget is not paused by %s with Retry-After, which is no more than a failed request", async (_, answer) => {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute: 60, burst: 2 });
  const client = clientOf(new ScriptedService(() => answer), clock, { budget });
  const failure = await client.listEndpoints("shop", forever);
  expect(failure.kind).not.toBe("ok");
  expect(failure).not.toHaveProperty("retryAfterMs");
  expect([budget.closedForMs, budget.available]).toEqual([0, 1]);
});

test("the service pauses the budget for five minutes at most, whatever it asks for", async () => {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute: 60, burst: 2 });
  const service = new ScriptedService(() => ({ ...refusal(503, "down"), retryAfterMs: 3_600_000 }));
  await clientOf(service, clock, { budget }).listEndpoints("shop", forever);
  expect(budget.closedForMs).toBe(300_000);
});

test("a Compute's request does not wait through a long pause, which would keep a worker from everybody else", async () => {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute: 60, burst: 1 });
  const service = new ScriptedService(() => ({ ...refusal(429, "slow down"), retryAfterMs: 3_600_000 }));
  const client = clientOf(service, clock, { budget });
  const answers: string[] = [];
  const ask = () => client.deleteEndpoint("shop", "ep-one", forever).then(({ kind }) => answers.push(kind));
  void ask();
  void ask();
  await clock.advance(0);
  void ask();
  await clock.advance(1);
  expect(answers).toEqual(["rateLimited", "rateLimited", "rateLimited"]);
  expect(service.requests).toHaveLength(1);
  const within = client.within(client.reservation("uid", () => {}));
  expect(await within.getEndpoint("shop", "ep-one", forever)).toMatchObject({ retryAfterMs: 299_999 });
});

test("a request still waiting when its key or address changes is not sent, and takes nothing from the budget", async () => {
  const clock = new VirtualClock();
  const budget = new RequestBudget(clock, { perMinute: 60, burst: 1 });
  const service = new ScriptedService(() => json(200, { endpoint: endpoint() }));
  const change = new AbortController();
  const client = clientOf(service, clock, { budget, retired: change.signal });
  const answers: string[] = [];
  const ask = () => client.patchEndpoint("shop", "ep-one", { endpoint: {} }, forever);
  for (let n = 0; n < 3; n += 1) void ask().then(({ kind }) => answers.push(kind));
  await clock.advance(0);
  change.abort();
  await clock.advance(0);
  expect(answers).toEqual(["ok", "superseded", "superseded"]);
  await clock.advance(1000);
  expect(budget.available).toBe(1);
  expect((await ask()).kind).toBe("superseded");
  expect(service.requests).toHaveLength(1);
});

test("a request sent before its key or address changed comes to its end", async () => {
  const clock = new VirtualClock();
  const change = new AbortController();
  const answer = Promise.withResolvers<ServiceResponse>();
  const client = clientOf(new ScriptedService(() => answer.promise), clock, { retired: change.signal });
  const asked = client.createEndpoint("shop", { endpoint: {} }, forever);
  await clock.settle();
  change.abort();
  answer.resolve(json(201, { endpoint: endpoint() }));
  expect(await asked).toMatchObject({ kind: "ok", value: { endpoint: { id: "ep-one" } } });
});

test("a request is counted by route and code, failures too, and never with an id or the key", async () => {
  const clock = new VirtualClock();
  const reported: unknown[] = [];
  const failures: Failure[] = [];
  const service = new ScriptedService(() => refusal(403, "no"));
  const client = clientOf(service, clock, {
    observe: (sent) => reported.push(sent),
    onFailure: (one) => {
      failures.push(one);
      return one;
    },
  });
  await client.getEndpoint("shop", "ep-one", forever);
  service.script = () => Promise.reject(new NoResponseError("ECONNREFUSED"));
  await client.getEndpoint("shop", "ep-one", forever);
  const route = "/projects/{p}/endpoints/{e}";
  expect(reported).toEqual([
    { method: "GET", route, code: "403", seconds: 0 },
    { method: "GET", route, code: "none", seconds: 0 },
  ]);
  expect(failures.map(({ kind }) => kind)).toEqual(["forbidden", "unavailable"]);
  expect(JSON.stringify([reported, failures])).not.toMatch(/ep-one|a-key-of-a-test/);
});
