import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, test, vi } from "vitest";
import { ErrorBody } from "../../../src/api/error.ts";
import type { EventSink } from "../../../src/service/http/exchange.ts";
import type { Fault } from "../../../src/service/http/faults.ts";
import { LongAnswers } from "../../../src/service/http/long-answers.ts";
import { ListeningShop } from "../support/listening.ts";
import { keys, main, preview, primary, project, Shop } from "../support/shop.ts";
import { Wire } from "../support/wire.ts";

let shop: ListeningShop;
beforeAll(async () => {
  shop = await ListeningShop.start({ faults: true, timeScale: 1000 });
});
afterAll(async () => {
  await shop[Symbol.asyncDispose]();
});
beforeEach(() => shop.core.setFaults([]));

function send(method: string, path: string, body?: unknown): Promise<Response> {
  return fetch(`${shop.baseURL}${path}`, {
    method,
    headers: { authorization: `Bearer ${keys.ana}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

/** Sets faults as a person would, through `PUT /_faults`. */
async function faults(...list: Partial<Fault>[]): Promise<void> {
  const url = shop.baseURL.replace("/api/v2", "/_faults");
  const { status } = await fetch(url, { method: "PUT", body: JSON.stringify(list) });
  expect(status).toBe(204);
}

const rename = (name: string) => send("PATCH", `/projects/${project}/endpoints/${primary}`, { endpoint: { name } });
const nameNow = () => shop.core.context.store.endpoints.byId(primary)?.name;

it("a call that may have changed something is answered although its long answer finds no room, and one that reads is not", async () => {
  const making = vi.spyOn(LongAnswers.prototype, "make");
  onTestFinished(() => making.mockRestore());
  await send("GET", "/projects");
  await rename("next");
  expect(making.mock.calls.map(([{ reads }]) => reads)).toEqual([true, false]);
});

describe("HTTP", () => {
  it("carries requests with and without a body, and answers without one", async () => {
    expect((await send("GET", "/projects")).status).toBe(200);
    const created = await send("POST", `/projects/${project}/endpoints`, {
      endpoint: { branch_id: main, type: "read_only" },
    });
    expect(created.status).toBe(201);
    expect(created.headers.get("content-type")).toBe("application/json; charset=utf-8");
    const gone = await send("DELETE", `/projects/${project}/endpoints/ep-none`);
    expect([gone.status, await gone.text()]).toEqual([204, ""]);
    const answer = await send("HEAD", "/projects");
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
  });

  it("takes the first value of a query parameter that is given twice", async () => {
    const answer = await send("GET", "/projects?limit=1&limit=100");
    expect(await answer.json()).toMatchObject({ projects: [{}] });
  });

  it("answers HEAD without taking what the console shows once", async () => {
    const at = (path: string) => shop.baseURL.replace("/api/v2", path);
    let cookie = "";
    let token = "";
    const visit = async (method: string, path: string, form?: Record<string, string>) => {
      const body = form === undefined ? null : new URLSearchParams({ token, ...form });
      const answer = await fetch(at(path), { method, headers: { cookie }, redirect: "manual", body });
      cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? cookie;
      const page = await answer.text();
      token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? token;
      return page;
    };
    await visit("GET", "/");
    await visit("POST", "/app/sign-in", { account: "acc-ana" });
    await visit("GET", "/");
    await visit("POST", "/app/keys", { name: "desk" });
    expect(await visit("HEAD", "/app/keys")).toBe("");
    expect(await visit("GET", "/app/keys")).toContain('<input id="secret"');
    expect(await visit("GET", "/app/keys")).not.toContain('<input id="secret"');
  });

  it("does not read a body without end", async () => {
    const answer = await send("POST", "/projects", { project: { name: "x".repeat(1_000_001) } });
    expect(answer.status).toBe(413);
    expect(ErrorBody.parse(await answer.json()).message).toContain("larger than 1000000 bytes");
  });

  it("serves its OpenAPI without a key", async () => {
    const answer = await fetch(`${shop.baseURL}/openapi.json`);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ openapi: "3.0.3" });
  });

  it("goes on when a client goes away in the middle of its request", async () => {
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("{"));
        controller.error(new Error("gone"));
      },
    });
    const headers = { authorization: `Bearer ${keys.ana}` };
    await expect(
      fetch(`${shop.baseURL}/projects`, { method: "POST", headers, body: stream, duplex: "half" }),
    ).rejects.toThrow("fetch failed");
    expect((await send("GET", "/auth")).status).toBe(200);
  });
});

describe("a fault", () => {
  it("before: the request has no effect and no answer", async () => {
    await faults({ kind: "drop-before", count: 1 });
    await expect(rename("before")).rejects.toThrow("fetch failed");
    expect(nameNow()).not.toBe("before");
    expect((await rename("then")).status).toBe(200);
  });

  it("after: the request has its effect and no answer", async () => {
    await faults({ kind: "drop-after", method: "PATCH", route: "/projects/{project_id}/endpoints/{endpoint_id}" });
    await expect(rename("after")).rejects.toThrow("fetch failed");
    expect(nameNow()).toBe("after");
    expect((await send("GET", `/projects/${project}/endpoints/${primary}`)).status).toBe(200);
  });

  it("refuse: the connection ends at once", async () => {
    await faults({ kind: "refuse", route: `/projects/${project}/endpoints/*` });
    await expect(rename("refused")).rejects.toThrow("fetch failed");
    expect(nameNow()).not.toBe("refused");
  });

  it("cut: the request has its effect, and the body ends in the middle", async () => {
    await faults({ kind: "cut", count: 1 });
    const answer = await rename("cut");
    expect(answer.status).toBe(200);
    await expect(answer.text()).rejects.toThrow("terminated");
    expect(nameNow()).toBe("cut");
    const whole = await (await rename("cut")).text();
    expect(Number(answer.headers.get("content-length"))).toBe(whole.length);
  });

  it("html: the request has its effect, and a proxy answers in its own words", async () => {
    await faults({ kind: "html", count: 1 });
    const answer = await rename("html");
    expect([answer.status, answer.headers.get("content-type")]).toEqual([503, "text/html; charset=utf-8"]);
    expect(await answer.text()).toContain("<html>");
    expect(nameNow()).toBe("html");
  });

  test.each(["423", "429", "500", "503"] as const)("%s: the service refuses in its own words", async (kind) => {
    await faults({ kind, count: 1, retryAfter: 7 });
    const answer = await rename("refused");
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([Number(kind), "7"]);
    expect(ErrorBody.safeParse(await answer.json()).success).toBe(true);
    expect(nameNow()).not.toBe("refused");
  });

  it("delay: the answer is held back", async () => {
    await faults({ kind: "delay", ms: 80, count: 1 });
    const began = performance.now();
    expect((await rename("late")).status).toBe(200);
    expect(performance.now() - began).toBeGreaterThan(70);
  });

  test.each(["503", "drop-after"] as const)("%s can be held back as well", (kind) => {
    const own = new Shop();
    own.core.setFaults([{ method: "GET", route: "*", kind, ms: 80 }]);
    expect(own.core.exchange({ method: "GET", path: "/api/v2/auth", headers: {} })).toMatchObject({ delayMs: 80 });
  });

  it("fail-operations: the request is carried out, and the operations that it sets off fail", () => {
    const own = new Shop();
    own.core.setFaults([{ method: "POST", route: "*", kind: "fail-operations", count: 1 }]);
    const path = `/api/v2/projects/${project}/endpoints`;
    const body = JSON.stringify({ endpoint: { branch_id: preview, type: "read_write" } });
    own.core.exchange({ method: "POST", path, headers: { authorization: `Bearer ${keys.ana}` }, body });
    const [failed] = own.finishOperations().operations();
    expect(failed).toMatchObject({ action: "start_compute", status: "failed", failures_count: 1 });
    expect(failed?.error).toBe("the operation was made to fail");
    const made = own.list().find(({ branch_id }) => branch_id === preview);
    expect(made).toMatchObject({ current_state: "idle" });
    own.write(`POST /projects/${project}/endpoints/${made?.id}/start`);
    expect(own.finishOperations().get(made?.id ?? "").current_state).toBe("active");
  });

  it("hits the share of requests that it is given", () => {
    shop.core.setFaults([{ method: "GET", route: "/auth", kind: "500", rate: 0.25 }]);
    const call = { method: "GET", path: "/api/v2/auth", headers: {} };
    const hits = Array.from({ length: 2000 }, () => shop.core.exchange(call)).filter(
      (exchange) => exchange.kind === "answer" && exchange.reply.status === 500,
    );
    expect(hits.length).toBeGreaterThan(400);
    expect(hits.length).toBeLessThan(600);
  });

  it("with a share and a count hits as many requests as it counts, however many it spares in between", () => {
    const own = new Shop();
    own.core.setFaults([{ method: "GET", route: "/auth", kind: "500", rate: 0.1, count: 3 }]);
    const call = { method: "GET", path: "/api/v2/auth", headers: {} };
    const answers = Array.from({ length: 500 }, () => own.core.exchange(call));
    expect(answers.filter((one) => one.kind === "answer" && one.reply.status === 500)).toHaveLength(3);
  });

  it("an unknown fault is refused, and without --faults any fault is", async () => {
    const url = shop.baseURL.replace("/api/v2", "/_faults");
    const answer = await fetch(url, { method: "PUT", body: JSON.stringify([{ kind: "flood" }]) });
    expect(answer.status).toBe(400);
    expect(ErrorBody.parse(await answer.json()).message).toContain('"drop-before"');
    await using plain = await ListeningShop.start();
    const missing = await fetch(plain.baseURL.replace("/api/v2", "/_faults"), { method: "PUT", body: "[]" });
    expect(missing.status).toBe(404);
  });
});

it("a client that is slow to take events gets the newest of those that wait, and no older one", async () => {
  await using slow = await ListeningShop.start();
  const sinks: EventSink[] = [];
  const closed = vi.fn<() => void>();
  const open = (sink: EventSink) => {
    sinks.push(sink);
    return closed;
  };
  slow.core.exchange = () => ({ kind: "stream", open, delayMs: 0 });
  const wire = new Wire(slow);
  wire.send("GET /changes HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(await wire.answer()).toMatch(/content-type: text\/event-stream\r\ncache-control: no-store\r\n/);
  const long = "x".repeat(1_000_000);
  for (const event of [`first ${long}`, "older", "newest"]) sinks[0]?.send(`data: ${event}\n\n`);
  await expect.poll(() => wire.received.includes("data: newest\n\n")).toBe(true);
  sinks[0]?.send("data: later\n\n");
  await expect.poll(() => wire.received.includes("data: later\n\n")).toBe(true);
  // The connection is free again once more, and nothing waits.
  sinks[0]?.send(`data: second ${long}\n\n`);
  await expect.poll(() => wire.received.includes(`second ${long}\n\n`)).toBe(true);
  sinks[0]?.send("data: last\n\n");
  await expect.poll(() => wire.received.includes("data: last\n\n")).toBe(true);
  expect(wire.received.match(/(?<=data: )[a-z]+/g)).toEqual(["first", "newest", "later", "second", "last"]);
  sinks[0]?.end();
  await expect.poll(() => closed.mock.calls.length).toBe(1);
});
