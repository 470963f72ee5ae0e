import { describe, expect, test } from "vitest";
import { newAuthority } from "../../support/authority.ts";
import { endpoint } from "../../support/builders.ts";
import { apiKeySecret, connection } from "../../support/connections.ts";
import { json } from "../../support/scripted-service.ts";
import { setUp } from "./joined.ts";

const minute = 60_000;
const { certificate: caBundle } = await newAuthority();

describe("connections with one base URL and key", () => {
  test("share one session and one budget, and the lowest limits of all apply", () => {
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

  test("find the pause that the service asked for still asked for when they come back", async () => {
    const { clock, connections, join } = setUp();
    join(connection()).budget.closeFor(60_000);
    connections.quit("connection-1");
    await clock.advance(59_000);
    expect(join(connection()).budget.available).toBe(0);
    await clock.advance(1000);
    expect(join(connection()).budget.available).toBe(40);
  });

  test("connections are distinguished by their keys: a changed Secret opens another session at once, and the former ends", () => {
    const { join, secrets } = setUp();
    const before = join(connection());
    secrets[0] = apiKeySecret({ key: "another-key" });
    const after = join(connection());
    expect(after).not.toBe(before);
    expect([before.signal.aborted, after.signal.aborted]).toEqual([true, false]);
    expect(after.fingerprint).not.toBe(before.fingerprint);
  });

  test("share their budget also where they trust different authorities", async () => {
    const { join, clock, service, connections } = setUp();
    const requestBudget = { perMinute: 60, burst: 3 };
    const first = join(connection({ spec: { requestBudget } }));
    const second = join(connection({ uid: "connection-2", spec: { caBundle } }));
    expect(second).not.toBe(first);
    for (let n = 0; n < 5; n += 1) void first.client.listEndpoints(`one-${n}`, first.signal);
    for (let n = 0; n < 5; n += 1) void second.client.listEndpoints(`two-${n}`, second.signal);
    await clock.advance(0);
    expect(service.requests).toHaveLength(3);
    await clock.advance(2000);
    expect(service.requests).toHaveLength(5);
    connections.quit("connection-1");
    expect(second.budget.available).toBe(0);
  });

  test("keep what they have spent when their authority changes", async () => {
    const { join, clock } = setUp();
    const spec = { requestBudget: { perMinute: 60, burst: 3 } };
    const before = join(connection({ spec }));
    for (let n = 0; n < 3; n += 1) void before.client.listEndpoints(`shop-${n}`, before.signal);
    await clock.advance(0);
    expect(join(connection({ spec: { ...spec, caBundle } })).budget.available).toBe(0);
  });

  test("have sessions of their own where they list the projects of different organizations", async () => {
    const { join, clock, service } = setUp();
    const before = join(connection({ spec: { organizationID: "org-a" } }));
    const other = join(connection({ uid: "connection-2", spec: { organizationID: "org-b" } }));
    for (const session of [before, other]) session.probe();
    await clock.settle();
    const asked = service.requests.filter(({ path }) => path === "/projects").map(({ query }) => query?.["org_id"]);
    expect(asked).toEqual(["org-a", "org-b"]);
    expect(join(connection({ spec: { organizationID: "org-c" } }))).not.toBe(before);
    expect(before.signal.aborted).toBe(true);
  });

  test("remember that the service shows names, by its base URL: another key does not make them hidden", async () => {
    const { join, secrets, answers, cached, clock } = setUp();
    const session = join(connection());
    const created = json(201, { endpoint: endpoint({ name: "by hand" }), operations: [] });
    answers["/projects/shop/endpoints"] = () => json(200, { endpoints: [endpoint()] });
    await session.client.listEndpoints("shop", session.signal);
    expect(session.showsNames).toBe(false);
    answers["/projects/shop/endpoints"] = () => created;
    await session.client.createEndpoint("shop", { endpoint: {} }, session.signal);
    expect(session.showsNames).toBe(true);
    secrets[0] = apiKeySecret({ key: "another-key" });
    expect(join(cached[0] ?? connection()).showsNames).toBe(true);
    await clock.settle();
  });

  test.each([
    ["a list", "", { endpoints: [endpoint({ name: "by hand" })] }],
    ["one endpoint", "/ep-one", { endpoint: endpoint({ name: "by hand" }) }],
  ])("learn from %s that the service shows names", async (_, path, body) => {
    const { join, answers } = setUp();
    const session = join(connection());
    answers[`/projects/shop/endpoints${path}`] = () => json(200, body);
    if (path === "") await session.client.listEndpoints("shop", session.signal);
    else await session.client.getEndpoint("shop", "ep-one", session.signal);
    expect(session.showsNames).toBe(true);
  });

  test("use only this process's share of each budget, and never less than one at once", () => {
    expect(setUp({ budgetShare: 0.5 }).join(connection()).budget.available).toBe(20);
    expect(setUp({ budgetShare: 0.001 }).join(connection()).budget.available).toBe(1);
  });
});

describe("a session", () => {
  test("a session of a key that was replaced sends nothing more, not even what waited for the budget", async () => {
    const { join, secrets, clock, service } = setUp();
    const spec = { requestBudget: { perMinute: 60, burst: 1 } };
    const before = join(connection({ spec }));
    const { signal } = new AbortController();
    const answers = [before.client.getProject("one", signal), before.client.deleteEndpoint("shop", "ep-one", signal)];
    await clock.settle();
    secrets[0] = apiKeySecret({ key: "another-key" });
    join(connection({ spec }));
    await clock.advance(minute);
    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(["unavailable", "superseded"]);
    expect(service.asked).toEqual(["GET /projects/one"]);
  });

  test("keeps nothing of a project that no Compute uses any more", async () => {
    const { probed, clock, unused } = setUp();
    const session = await probed();
    for (let n = 0; n < 100; n += 1) {
      session.project(`project-${n}`).use("uid", undefined);
      await clock.advance(100);
      session.project(`project-${n}`).leave("uid");
    }
    expect([session.listers.size, clock.pending]).toEqual([0, 0]);
    expect(unused).toHaveLength(100);
  });

  test("lists at the pace that a changed refreshInterval asks for, not only after the former has run out", async () => {
    const { probed, join, clock, service } = setUp();
    const hourly = connection({ spec: { refreshInterval: "1h" } });
    const session = await probed(hourly);
    session.project("shop").use("uid", undefined);
    await clock.advance(minute);
    expect(service.count("/projects/shop/endpoints")).toBe(1);
    expect(join(connection({ spec: { refreshInterval: "10s" } }))).toBe(session);
    await clock.advance(minute);
    expect(service.count("/projects/shop/endpoints")).toBe(8);
    join(hourly);
    await clock.advance(30 * minute);
    expect(service.count("/projects/shop/endpoints")).toBe(8);
  });

  test("keeps listing a project that another Compute still uses", async () => {
    const { probed } = setUp();
    const session = await probed();
    const lister = session.project("shop");
    lister.use("one", undefined);
    lister.use("two", undefined);
    lister.leave("one");
    expect(session.project("shop")).toBe(lister);
  });
});

describe("what a Compute sees of its connection", () => {
  test("a Compute sees that there is no connection", () => {
    expect(setUp().view("other")).toMatchObject({ kind: "closed", reason: "ConnectionNotFound" });
  });

  test.each([
    ["its Secret is missing", { secrets: [] }, 'There is no Secret "service"'],
    [
      "its base URL is not allowed",
      { connections: [connection({ spec: { baseURL: "https://evil/api/v2" } })] },
      "does not allow spec.baseURL",
    ],
    [
      "it does not allow the project",
      { connections: [connection({ spec: { allowedProjects: ["other"] } })] },
      "allowedProjects",
    ],
  ])("a Compute sees that its connection is not ready: %s", (_, options, text) => {
    expect(setUp(options).view()).toMatchObject({
      kind: "closed",
      reason: "ConnectionNotReady",
      message: expect.stringContaining(text),
    });
  });

  test.each([
    ["the connection", { connections: [connection({ guarded: false })] }],
    ["the Secret", { secrets: [apiKeySecret({ guarded: false })] }],
  ])(
    "a Compute sees nothing yet before the finalizer of %s stands: it must outlive the computes",
    async (_, options) => {
      const { probed, view } = setUp(options);
      await probed();
      expect(view()).toEqual({ kind: "pending" });
    },
  );

  test("a Compute sees nothing yet before the service has answered", async () => {
    const { view, probed } = setUp();
    expect(view()).toEqual({ kind: "pending" });
    await probed();
    expect(view()).toMatchObject({ kind: "open", terminating: false });
  });

  test("a Compute sees that its connection is being deleted, and may still use it to delete", async () => {
    const { view, probed } = setUp({ connections: [connection({ deleting: true, guarded: false })] });
    await probed();
    expect(view()).toMatchObject({ kind: "open", terminating: true });
  });
});
