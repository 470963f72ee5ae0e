import { describe, expect, test } from "vitest";
import { Budgets } from "../../../src/operator/client/budgets.ts";
import type { ServiceResponse } from "../../../src/operator/client/transport.ts";
import { Connections } from "../../../src/operator/connection/connections.ts";
import type { Secret } from "../../../src/operator/connection/resolve.ts";
import type { ServiceConnection } from "../../../src/operator/resources/service-connection.ts";
import { apiKeySecret, connection } from "../../support/connections.ts";
import { json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const minute = 60_000;

/** Connections of the team as the cache holds them, all to one service; the first joined and probed. */
function setUp(options: { connections?: ServiceConnection[]; secrets?: Secret[]; budgetShare?: number } = {}) {
  const { connections: cached = [connection()], secrets = [apiKeySecret()], budgetShare = 1 } = options;
  const clock = new VirtualClock();
  const service = new ScriptedService();
  const answers: Record<string, () => ServiceResponse | Promise<ServiceResponse>> = {
    "/auth": () => json(200, { account_id: "acc", auth_method: "api_key_user" }),
    "/projects": () => json(200, { projects: [{ id: "shop" }] }),
  };
  service.script = ({ path }) => answers[path]?.() ?? json(200, { endpoints: [] });
  const woken: string[] = [];
  const connections = new Connections({
    cache: {
      connection: (_, name) => cached.find(({ metadata }) => metadata.name === name),
      secret: (_, name) => secrets.find(({ metadata }) => metadata.name === name),
    },
    allowedBaseURLs: ["https://service.example.com/api/v2"],
    budgetShare,
    transport: service,
    budgets: new Budgets(clock),
    clock,
    beforeWrite: () => {},
    signal: new AbortController().signal,
    wake: () => {},
    wakeConnections: (uids) => woken.push(...uids),
  });
  const join = (one: ServiceConnection) => {
    const resolved = connections.resolved(one);
    if (resolved.kind !== "account") throw new Error(resolved.message);
    return connections.join(one, resolved.account);
  };
  const probed = async (one = cached[0] ?? connection()) => {
    const session = join(one);
    session.probe(undefined);
    await clock.settle();
    return session;
  };
  const view = (name = "default", project = "shop") => connections.view("team", name, project);
  return { clock, service, answers, connections, join, probed, view, woken, cached, secrets };
}

describe("connections with one base URL and key", () => {
  test("share one session and one budget, and the lowest figures of all win", () => {
    const { join, connections } = setUp();
    const first = join(connection({ spec: { requestBudget: { perMinute: 600, burst: 40 } } }));
    const second = join(connection({ uid: "connection-2", spec: { requestBudget: { perMinute: 700, burst: 10 } } }));
    expect(second).toBe(first);
    expect(first.budget.available).toBe(10);
    connections.quit("connection-2");
    expect([...connections.sessions]).toEqual([first]);
    connections.quit("connection-1");
    expect([...connections.sessions]).toEqual([]);
    expect(first.signal.aborted).toBe(true);
  });

  test("share the budget too where their certificates keep their sessions apart", () => {
    const { join } = setUp();
    const first = join(connection());
    const second = join(
      connection({
        uid: "connection-2",
        spec: { caBundle: "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----" },
      }),
    );
    expect(second).not.toBe(first);
    expect(second.budget).toBe(first.budget);
  });

  test("find the pause that the service asked for still asked for when they come back", async () => {
    const { clock, connections, join } = setUp();
    join(connection()).budget.closeFor(60_000);
    connections.quit("connection-1");
    await clock.advance(59_000);
    expect(join(connection()).budget.available).toBe(0);
    await clock.advance(1000);
    expect(join(connection()).budget.available).toBe(40);
  });

  test("are told apart by their keys: a changed Secret is another session at once, and the former ends", () => {
    const { join, secrets } = setUp();
    const before = join(connection());
    secrets[0] = apiKeySecret({ key: "another-key" });
    const after = join(connection());
    expect(after).not.toBe(before);
    expect([before.signal.aborted, after.signal.aborted]).toEqual([true, false]);
    expect(after.through).not.toBe(before.through);
  });

  test("use only this process's share of each budget, and never less than one at once", () => {
    expect(setUp({ budgetShare: 0.5 }).join(connection()).budget.available).toBe(20);
    expect(setUp({ budgetShare: 0.001 }).join(connection()).budget.available).toBe(1);
  });
});

describe("what a Compute sees of its connection", () => {
  test("is that there is none", () => {
    expect(setUp().view("other")).toMatchObject({ kind: "closed", reason: "ConnectionNotFound" });
  });

  test.each([
    ["its Secret is missing", { secrets: [] }, 'There is no Secret "service"'],
    [
      "its base URL is not allowed",
      { connections: [connection({ spec: { baseURL: "https://evil/api/v2" } })] },
      "not allowed",
    ],
    [
      "it does not allow the project",
      { connections: [connection({ spec: { allowedProjects: ["other"] } })] },
      "allowedProjects",
    ],
  ])("is that it is not ready: %s", (_, options, text) => {
    expect(setUp(options).view()).toMatchObject({
      kind: "closed",
      reason: "ConnectionNotReady",
      message: expect.stringContaining(text),
    });
  });

  test.each([
    ["the connection", { connections: [connection({ guarded: false })] }],
    ["the Secret", { secrets: [apiKeySecret({ guarded: false })] }],
  ])("is nothing yet before the finalizer of %s stands: it must outlive the computes", async (_, options) => {
    const { probed, view } = setUp(options);
    await probed();
    expect(view()).toEqual({ kind: "pending" });
  });

  test("is nothing yet before the service has answered", async () => {
    const { view, probed } = setUp();
    expect(view()).toEqual({ kind: "pending" });
    await probed();
    expect(view()).toMatchObject({ kind: "open", terminating: false });
  });

  test("is that it is being deleted, and may still be used to delete", async () => {
    const { view, probed } = setUp({ connections: [connection({ deleting: true, guarded: false })] });
    await probed();
    expect(view()).toMatchObject({ kind: "open", terminating: true });
  });
});

describe("a refused key", () => {
  async function refused() {
    const all = setUp();
    all.answers["/auth"] = () => refusal(401, "bad key");
    const session = await all.probed();
    return { ...all, session };
  }

  test("is told to all, and nothing more is sent with it", async () => {
    const { view, session, service, woken } = await refused();
    expect(view()).toMatchObject({
      kind: "closed",
      reason: "Unauthorized",
      message: expect.stringContaining("bad key"),
    });
    expect(woken).toContain("connection-1");
    const asked = service.requests.length;
    const { signal } = session;
    expect((await session.client.listEndpoints("shop", signal)).kind).toBe("unauthorized");
    expect((await session.client.deleteEndpoint("shop", "ep-one", signal)).kind).toBe("unauthorized");
    expect(service.requests).toHaveLength(asked);
  });

  test("is probed ever more slowly, from a minute up to ten", async () => {
    const { session, clock } = await refused();
    const waits = [];
    for (let n = 0; n < 6; n += 1) {
      const due = session.probeDueIn() ?? 0;
      waits.push(due / minute);
      await clock.advance(due);
      session.probe(undefined);
      await clock.settle();
    }
    expect(waits).toEqual([1, 2, 4, 8, 10, 10]);
  });

  test("lets nothing else out while the probe is on its way", async () => {
    const { session, clock, service, answers } = await refused();
    let answer = () => {};
    answers["/auth"] = () =>
      new Promise((resolve) => {
        answer = () => resolve(json(200, { account_id: "acc", auth_method: "api_key_user" }));
      });
    await clock.advance(minute);
    session.probe(undefined);
    await clock.settle();
    expect((await session.client.listEndpoints("shop", session.signal)).kind).toBe("unauthorized");
    expect(service.count("/endpoints")).toBe(0);
    answer();
    await clock.settle();
    expect((await session.client.listEndpoints("shop", session.signal)).kind).toBe("ok");
  });
});

describe("what kind of key it is", () => {
  test.each([
    ["personal", "api_key_user"],
    ["organization", "api_key_org"],
    ["unknown", "a way of next year"],
  ])("is %s where the service says %s", async (type, auth_method) => {
    const { answers, probed } = setUp();
    answers["/auth"] = () => json(200, { account_id: "acc", auth_method });
    expect((await probed()).keyType).toBe(type);
  });

  test("is project once a refusal has named its project", async () => {
    const { answers, probed } = setUp();
    const session = await probed();
    const message =
      'not allowed to perform actions outside the project this key is scoped to; subject_project_id:"shop"';
    answers["/projects/other/endpoints"] = () => refusal(404, message);
    expect((await session.client.listEndpoints("other", session.signal)).kind).toBe("forbidden");
    expect(session.keyType).toBe("project");
  });

  test("is no question of health: a service without /auth is reachable", async () => {
    const { answers, probed } = setUp();
    answers["/auth"] = () => refusal(404, "this route does not exist");
    expect((await probed()).health).toEqual({ kind: "reachable" });
  });
});

describe("a project is gone", () => {
  const missing = () => refusal(404, "project not found");
  const others = () => json(200, { projects: [{ id: "other" }] });

  test.each<[string, Record<string, () => ServiceResponse>, string, boolean]>([
    ["404 and a complete list of a personal key lacks it", { "/projects": others }, "api_key_user", true],
    ["… of an organization's key", { "/projects": others }, "api_key_org", true],
    [
      "… that is empty, of an organization's key",
      { "/projects": () => json(200, { projects: [] }) },
      "api_key_org",
      false,
    ],
    ["… of a key of unknown kind", { "/projects": others }, "?", false],
    ["the list holds it", {}, "api_key_user", false],
    [
      "the list is partial",
      { "/projects": () => json(200, { projects: [], unavailable_project_ids: ["shop"] }) },
      "api_key_user",
      false,
    ],
    ["the list fails", { "/projects": () => refusal(500) }, "api_key_user", false],
    ["its own GET is refused", { "/projects": others, "/projects/shop": () => refusal(403) }, "api_key_user", false],
    [
      "404 for want of rights",
      { "/projects": others, "/projects/shop": () => refusal(404, "not allowed for organization API keys") },
      "api_key_user",
      false,
    ],
    ["a proxy's 404", { "/projects": others, "/projects/shop": () => json(404, {}) }, "api_key_user", false],
  ])("only where proved: %s", async (_, more, auth_method, gone) => {
    const { answers, probed } = setUp();
    answers["/auth"] = () => json(200, { account_id: "acc", auth_method });
    const session = await probed();
    Object.assign(answers, { "/projects/shop": missing, ...more });
    expect(await session.projectIsGone("shop", undefined)).toBe(gone);
  });
});
