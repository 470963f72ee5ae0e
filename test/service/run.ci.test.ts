import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Server } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { BranchAnswer, BranchesAnswer } from "../../src/api/branch.ts";
import { EndpointsAnswer } from "../../src/api/endpoint.ts";
import { OperationsAnswer } from "../../src/api/operation.ts";
import { Store } from "../../src/service/store/store.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { Running } from "./support/running.ts";
import { Shop } from "./support/shop.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let running: Running | undefined;
beforeEach(() => {
  directory = temporaryDirectory("ci");
});
afterEach(async () => {
  await running?.stop();
  directory.remove();
});

const seed = `
accounts: [{id: acc-ana, email: ana@example.com, plan: scale, apiKeys: [{name: ci, key: ana-key}]}]
projects:
  - {id: shop, owner: acc-ana, branches: [{id: br-main, name: main}],
     endpoints: [{id: ep-main, branchID: br-main, type: read_write}]}
`;

/** Starts the service with the seed; answers a way to call it. */
async function started(...args: string[]) {
  const file = join(directory.path, "seed.yaml");
  writeFileSync(file, seed);
  running = new Running("--port", "0", "--seed", file, ...args);
  return callerOf(await running.listening(), "ana-key");
}

function callerOf(baseURL: string, key: string) {
  const origin = new URL(baseURL).origin;
  return async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${path.startsWith("/_") ? origin : baseURL}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const parsed: unknown = text === "" ? undefined : JSON.parse(text);
    return { status: answer.status, body: parsed };
  };
}

it("the health check is answered without a key, from anywhere", () => {
  const headers = { host: "service.example", "x-forwarded-for": "192.0.2.7" };
  const reply = new Shop().core.call({ method: "GET", path: "/healthz", remote: "192.0.2.7", headers });
  expect([reply.status, reply.body]).toEqual([200, '{"status":"ok"}']);
});

const start = "/projects/shop/endpoints/ep-main/start";

it.each<[flags: string[], line: [method: string, path: string, body?: unknown], without: object, withThem: object]>([
  [["--strict-spec"], ["GET", "/users/me"], { status: 200 }, { status: 404 }],
  [["--no-project-lock"], ["POST", "/projects/shop/branches", {}], { status: 423 }, { status: 201 }],
  [
    ["--domain", "db.test"],
    ["GET", "/projects/shop/endpoints/ep-main"],
    { body: { endpoint: { host: "ep-main.us-east-2.aws.neon.tech" } } },
    { body: { endpoint: { host: "ep-main.db.test", proxy_host: "db.test" } } },
  ],
  [
    ["--time-scale", "1000"],
    ["GET", "/projects/shop/endpoints/ep-main"],
    { body: { endpoint: { current_state: "idle" } } },
    { body: { endpoint: { current_state: "active" } } },
  ],
])("the flags %j change the answer to %j", async (flags, line, without, withThem) => {
  for (const [given, expected] of [
    [[], without],
    [flags, withThem],
  ] as const) {
    const call = await started(...given);
    await call("POST", start);
    await running?.clock.advance(50);
    expect(await call(...line)).toMatchObject(expected);
    await running?.stop();
  }
});

it("--ready-file names a file that holds the base URL for as long as the service is ready", async () => {
  const file = join(directory.path, "ready");
  running = new Running("--port", "0", "--ready-file", file);
  const baseURL = await running.listening();
  expect(readFileSync(file, "utf8")).toBe(`${baseURL}\n`);
  expect(await running.stop()).toBe(0);
  expect(existsSync(file)).toBe(false);
});

it("a ready file is there whole or not at all: what was there before it is no part of it", async () => {
  const file = join(directory.path, "ready");
  writeFileSync(file, "before");
  const before = openSync(file, "r");
  onTestFinished(() => closeSync(before));
  running = new Running("--port", "0", "--ready-file", file);
  await running.listening();
  expect([
    readFileSync(before, "utf8"),
    readdirSync(directory.path).filter((name) => name.startsWith("ready")),
  ]).toEqual(["before", ["ready"]]);
});

it("the ready file is gone before the service takes no more connections", async () => {
  const file = join(directory.path, "ready");
  running = new Running("--port", "0", "--ready-file", file);
  await running.listening();
  const close = Reflect.get(Server.prototype, "close");
  const there: boolean[] = [];
  const closing = vi.spyOn(Server.prototype, "close").mockImplementation(function end(this: Server, done) {
    there.push(existsSync(file));
    return Reflect.apply(close, this, [done]);
  });
  onTestFinished(() => closing.mockRestore());
  expect([await running.stop(), there]).toEqual([0, [false]]);
});

it("a service that cannot start beside another one leaves it its ready file", async () => {
  const file = join(directory.path, "ready");
  running = new Running("--port", "0", "--ready-file", file);
  const baseURL = await running.listening();
  const second = new Running("--port", new URL(baseURL).port, "--ready-file", file);
  expect([await second.status, readFileSync(file, "utf8")]).toEqual([1, `${baseURL}\n`]);
});

it("the ready file of a service that was killed is gone before the next one is ready", async () => {
  const file = join(directory.path, "ready");
  writeFileSync(file, "before");
  running = new Running("--port", "0", "--ready-file", file);
  const there: boolean[] = [];
  vi.spyOn(running.out, "push").mockImplementation(() => there.push(existsSync(file)));
  await expect.poll(() => existsSync(file) && readFileSync(file, "utf8")).toMatch(/^http/);
  expect(there).toEqual([false, false, false]);
});

it("a ready file that cannot be written ends the service with what to do", async () => {
  running = new Running("--port", "0", "--ready-file", join(directory.path, "none", "ready"));
  expect(await running.status).toBe(1);
  expect(running.err[0]).toMatch(/cannot write the file .*ENOENT.* Choose another with --ready-file\.$/);
});

it("a ready file that cannot be removed ends the service with what is due in it", async () => {
  const ready = join(directory.path, "ready");
  const call = await started("--ready-file", ready);
  await call("POST", start);
  rmSync(ready);
  mkdirSync(ready);
  expect(await running?.stop()).toBe(1);
  await running?.clock.advance(10_000);
  expect(running?.err).toEqual([expect.stringMatching(/cannot write the file .* Choose another with --ready-file\.$/)]);
});

describe("request limits", () => {
  const statuses = (shop: Shop, requests: number) =>
    Array.from({ length: requests }, () => shop.ana("GET /auth").status);

  it("obey --time-scale: a second of the service's time is shorter", () => {
    const passed = (timeScale: number, ms: number) => {
      const shop = new Shop({ timeScale });
      expect(statuses(shop, 41).at(-1)).toBe(429);
      shop.time.pass(ms);
      return shop.ana("GET /auth").status;
    };
    expect([passed(1, 100), passed(1, 1000)]).toEqual([429, 200]);
    expect([passed(10, 90), passed(10, 100)]).toEqual([429, 200]);
  });

  it("request limits are off with --no-rate-limits", async () => {
    const call = await started("--no-rate-limits");
    const answers = await Promise.all(Array.from({ length: 60 }, () => call("GET", "/auth")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

describe("--test-controls", () => {
  it("POST /_reset goes back to the seed: what was made is gone, what was deleted is there, keys work", async () => {
    const call = await started("--test-controls", "--faults");
    const uri = "/projects/shop/connection_uri?database_name=neondb&role_name=neondb_owner";
    const before = await call("GET", uri);
    await call("POST", "/projects", { project: { name: "made" } });
    await call("DELETE", "/projects/shop/endpoints/ep-main");
    const keys = z.array(z.object({ id: z.number() })).parse((await call("GET", "/api_keys")).body);
    await call("DELETE", `/api_keys/${keys[0]?.id}`);
    await call("PUT", "/_faults", [{ kind: "500" }]);
    expect((await call("GET", "/projects")).status).toBe(500);
    expect((await call("POST", "/_reset")).status).toBe(204);
    const { body } = await call("GET", "/projects/shop/endpoints");
    expect(EndpointsAnswer.parse(body).endpoints).toMatchObject([{ id: "ep-main", current_state: "idle" }]);
    expect((await call("GET", "/projects")).body).toMatchObject({ projects: [{ id: "shop" }] });
    expect(await call("GET", uri)).toEqual(before);
    expect((await call("GET", "/projects/shop/operations")).body).toMatchObject({ operations: [] });
  });

  it("a reset forgets the requests that count against the rate limits", async () => {
    const call = await started("--test-controls");
    const statuses = async (count: number) =>
      (await Promise.all(Array.from({ length: count }, () => call("GET", "/auth")))).map(({ status }) => status);
    expect((await statuses(41)).filter((status) => status === 429)).toHaveLength(1);
    expect((await call("POST", "/_reset")).status).toBe(204);
    expect(new Set(await statuses(40))).toEqual(new Set([200]));
  });

  it("without a seed it goes back to the first account, whose key goes on", async () => {
    running = new Running("--port", "0", "--test-controls");
    const baseURL = await running.listening();
    const call = callerOf(baseURL, running.out[0]?.split(": ")[1] ?? "");
    const first = (await call("GET", "/projects")).body;
    await call("POST", "/projects", { project: { name: "made" } });
    expect((await call("POST", "/_reset")).status).toBe(204);
    expect((await call("GET", "/projects")).body).toEqual(first);
  });

  it("a reset has nothing to go back to where a data file was there before", async () => {
    const data = join(directory.path, "service.sqlite");
    running = new Running("--port", "0", "--data", data);
    await running.listening();
    await running.stop();
    running = new Running("--port", "0", "--data", data, "--test-controls");
    const call = callerOf(await running.listening(), "none");
    expect(await call("POST", "/_reset")).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining("start the service with --seed") },
    });
  });

  it("POST /_clock/advance lets time pass at once, with all that happens in it", async () => {
    const call = await started("--test-controls");
    await call("POST", "/projects/shop/endpoints/ep-main/start");
    await call("POST", "/_clock/advance", { seconds: 2 });
    const state = async () => EndpointsAnswer.parse((await call("GET", "/projects/shop/endpoints")).body).endpoints[0];
    expect((await state())?.current_state).toBe("active");
    const answer = await call("POST", "/_clock/advance", { seconds: 400 });
    expect(answer.body).toEqual({ now: new Date((running?.clock.now() ?? 0) + 402_000).toISOString() });
    expect((await state())?.current_state).toBe("idle");
    const { operations } = OperationsAnswer.parse((await call("GET", "/projects/shop/operations")).body);
    expect(operations.map(({ action, status }) => `${action} ${status}`)).toEqual([
      "suspend_compute finished",
      "start_compute finished",
    ]);
    for (const seconds of [-1, "ten", 1e12]) {
      expect((await call("POST", "/_clock/advance", { seconds })).status).toBe(400);
    }
  });

  it("POST /_clock/advance brings the end of a branch, which --branch-recovery keeps for a while", async () => {
    const call = await started("--test-controls", "--branch-recovery");
    const expires_at = new Date(Math.floor((running?.clock.now() ?? 0) / 1000) * 1000 + 3_600_000).toISOString();
    const { body } = await call("POST", "/projects/shop/branches", { branch: { name: "pr-42", expires_at } });
    const { branch } = BranchAnswer.parse(body);
    const names = async () => {
      const { branches } = BranchesAnswer.parse((await call("GET", "/projects/shop/branches")).body);
      return branches.map(({ name }) => name);
    };
    expect(await names()).toContain("pr-42");
    await call("POST", "/_clock/advance", { seconds: 3601 });
    expect(await names()).not.toContain("pr-42");
    expect((await call("GET", `/projects/shop/branches/${branch.id}`)).body).toMatchObject({
      branch: { recovery: { deletion_method: "ttl" } },
    });
  });

  it("what comes due after an advance comes as much sooner, also while nobody calls", async () => {
    const data = join(directory.path, "service.sqlite");
    const call = await started("--test-controls", "--data", data);
    await call("POST", "/projects/shop/endpoints/ep-main/start");
    await call("POST", "/_clock/advance", { seconds: 2 });
    await call("POST", "/_clock/advance", { seconds: 290 });
    await running?.clock.advance(20_000);
    await running?.stop();
    const store = Store.open(data);
    expect(store.endpoints.byId("ep-main")?.currentState).toBe("idle");
    store.close();
  });

  it("does not exist without the flag", async () => {
    const call = await started();
    expect((await call("POST", "/_reset")).status).toBe(404);
    expect((await call("POST", "/_clock/advance", { seconds: 1 })).status).toBe(404);
  });

  it.each(["/_reset", "/_clock/advance"])("POST %s is refused to another site and through a proxy", async (path) => {
    const call = await started("--test-controls");
    await call("POST", "/projects/shop/branches", { branch: { name: "made" } });
    const { origin } = new URL((await running?.listening()) ?? "");
    for (const headers of [{ origin: "http://evil.example" }, { "x-forwarded-for": "192.0.2.7" }]) {
      const answer = await fetch(`${origin}${path}`, { method: "POST", headers, body: '{"seconds": 1}' });
      expect([headers, answer.status]).toEqual([headers, 403]);
    }
    expect(JSON.stringify((await call("GET", "/projects/shop/branches")).body)).toContain('"made"');
  });

  it.each(["0.0.0.0", "::", "192.0.2.7", "service.example"])(
    "--test-controls with --host %s is refused before the service listens",
    async (host) => {
      running = new Running("--port", "0", "--host", host, "--test-controls");
      expect(await running.status).toBe(1);
      expect(running.err[0]).toContain(
        `--test-controls needs a --host of this machine alone, such as 127.0.0.1, not ${host}`,
      );
      expect(running.out).toEqual([]);
    },
  );
});
