import { beforeEach, describe, expect, test } from "vitest";
import type { Operation } from "../../../src/api/operation.ts";
import { Session } from "../../../src/operator/connection/session.ts";
import { reportOf, statusOf } from "../../../src/operator/connection/status.ts";
import { WriteWindows } from "../../../src/operator/project/write-window.ts";
import type { ServiceConnectionStatus } from "../../../src/operator/resources/service-connection.ts";
import { ApiKey } from "../../../src/operator/service-client/account.ts";
import { Budgets } from "../../../src/operator/service-client/budgets.ts";
import { compute, endpoint, operation } from "../../support/builders.ts";
import { connection } from "../../support/connections.ts";
import { json, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { firstPollMs } from "./watching.ts";

const seconds = 1000;
const limits = { perMinute: 700, burst: 40 };

let clock: VirtualClock;
let stop: AbortController;
let session: Session;
let changes: number;
let names: Set<string>;
let budgets: Budgets;
let projects: object[];
/** What the session reported of lists and operations. */
let reports: string[];
let operations: Operation[];
/** Ids of endpoints without a Compute, by project. */
let orphaned: Record<string, string[]>;

beforeEach(() => {
  clock = new VirtualClock();
  stop = new AbortController();
  changes = 0;
  names = new Set();
  budgets = new Budgets(clock);
  projects = [];
  reports = [];
  operations = [operation()];
  orphaned = {};
  const service = new ScriptedService(({ path }) => {
    if (path === "/auth") return json(200, { account_id: "acc", auth_method: "api_key_org" });
    if (path === "/projects") return json(200, { projects });
    const ids = orphaned[path.split("/")[2] ?? ""] ?? [];
    return json(200, { endpoints: ids.map((id) => endpoint({ id })), operations });
  });
  const options = {
    account: { baseURL: "https://service.example/api/v2", key: new ApiKey("k") },
    budgets,
    namesShownBy: names,
    windows: new WriteWindows(clock),
    transport: service,
    clock,
    beforeWrite: () => undefined,
    log: silentLogger,
    enqueue: () => undefined,
    orphansAmong: (endpoints: readonly ReturnType<typeof endpoint>[]) => endpoints,
    onChange: () => {
      changes += 1;
    },
    onListed: (projectID: string, _listing: unknown, baseURL: string) => reports.push(`${baseURL} listed ${projectID}`),
    onOperationEnded: ({ id }: Operation, baseURL: string) => reports.push(`${baseURL} ended ${id}`),
    signal: stop.signal,
  };
  session = new Session(options, "connection", { limits, refreshIntervalMs: 30 * seconds });
});

/** The project is used and was listed often enough to know its orphans. */
async function judged(...ids: string[]): Promise<void> {
  for (const id of ids) session.project(id).use("uid", undefined);
  await clock.advance(31 * seconds);
}

describe("a session", () => {
  test("ends with the operator", () => {
    stop.abort();
    expect(session.signal.aborted).toBe(true);
  });

  test("a session has the shortest interval and the lowest budget of its connections, and no longer than they use it", async () => {
    session.join("other", { limits: { perMinute: 60, burst: 3 }, refreshIntervalMs: 10 * seconds });
    expect([session.refreshes.inForceMs, session.budget.available]).toEqual([10 * seconds, 3]);
    expect(session.quit("other")).toBe(true);
    await clock.advance(60 * seconds);
    expect([session.refreshes.inForceMs, session.budget.available]).toEqual([30 * seconds, 40]);
  });

  test("plans nothing more when its last connection quits", async () => {
    session.project("shop").use("uid", undefined);
    await clock.advance(0);
    const due = clock.nextDue();
    expect([session.quit("connection"), clock.nextDue()]).toEqual([false, due]);
  });

  test("reports a pause, and none once it is stopped, though others use its budget", async () => {
    session.budget.closeFor(10 * seconds);
    await clock.advance(10 * seconds);
    expect([changes, session.state.shown.kind]).toEqual([1, "paused"]);
    await session.client.listEndpoints("shop", session.signal);
    expect([changes, session.state.shown.kind]).toEqual([2, "unknown"]);
    session.stop();
    session.budget.closeFor(60 * seconds);
    expect([changes, session.state.shown.kind]).toEqual([2, "unknown"]);
  });

  test("a stopped session leaves no timer, and its limits count for no other", async () => {
    session.join("connection", { limits: { perMinute: 60, burst: 3 }, refreshIntervalMs: 30 * seconds });
    session.project("shop").use("uid", undefined);
    await clock.advance(0);
    session.stop();
    expect(clock.pending).toBe(0);
    const budget = budgets.join(session.fingerprint, "later", limits);
    await clock.advance(60 * seconds);
    expect(budget.available).toBe(40);
  });

  test("sends the requests of reconciles with a client that blocks a worker, and lists with another", () => {
    expect(session.project("shop").client).toBe(session.client);
  });

  test("reports its lists and the ends of operations with its base URL", async () => {
    const lister = session.project("shop");
    lister.use("uid", "ep-one");
    lister.operations.follow([operation()]);
    operations = [operation({ status: "finished" })];
    await clock.advance(firstPollMs);
    expect(reports).toEqual([
      "https://service.example/api/v2 listed shop",
      "https://service.example/api/v2 ended op-1",
    ]);
  });

  test("lets writes to a project go one at a time until the service has shown a name", () => {
    const { writeLimiter } = session.project("shop");
    writeLimiter.take("a");
    writeLimiter.accepted("a");
    expect(["a", "b"].map((uid) => writeLimiter.take(uid))).toEqual([true, false]);
    names.add("https://service.example/api/v2");
    expect(writeLimiter.take("b")).toBe(true);
  });
});

describe("a project whose last Compute leaves", () => {
  test("leaves no timer, not even of operations in progress, and no orphans", async () => {
    orphaned = { shop: ["ep-b"] };
    await judged("shop");
    expect(session.orphanIDs).toEqual(["https://service.example/api/v2 ep-b"]);
    const lister = session.project("shop");
    lister.operations.follow([operation()]);
    lister.leave("uid");
    expect([clock.pending, session.orphanIDs, session.listers.size]).toEqual([0, [], 0]);
  });

  test("a project that was left is listed again for the next Compute, whatever an earlier one does late", () => {
    const former = session.project("shop");
    former.use("a", undefined);
    former.leave("a");
    const lister = session.project("shop");
    expect(lister).not.toBe(former);
    lister.use("b", undefined);
    former.leave("a");
    expect(session.project("shop")).toBe(lister);
  });

  test("does not end the lateness of the others", async () => {
    for (const id of ["shop", "blog"]) session.project(id).use("uid", undefined);
    await clock.advance(0);
    session.join("connection", { limits: { perMinute: 1, burst: 1 }, refreshIntervalMs: 30 * seconds });
    await clock.advance(400 * seconds);
    expect(session.refreshes.isStretched).toBe(true);
    session.project("blog").leave("uid");
    expect(session.refreshes.isStretched).toBe(true);
  });
});

describe("the status of a connection", () => {
  const resolved = {
    kind: "account",
    account: { baseURL: "https://service.example/api/v2", key: new ApiKey("k") },
  } as const;
  const user = (projectID: string) => compute({ spec: { projectID } });
  const status = (
    before: ServiceConnectionStatus,
    users = [user("shop")],
    { session: seen }: { session?: Session } = { session },
  ) =>
    statusOf({ ...connection({ generation: 7 }), status: before }, resolved, seen, undefined, () => users, {
      now: Date.UTC(2026, 0, 1),
      isOfKey: true,
    });
  const orphans = (...ids: [id: string, projectID: string][]) => ids.map(([id, projectID]) => ({ id, projectID }));

  test("says of which generation it is, and shows what the service shows of each project", async () => {
    projects = [{ id: "shop", name: "Shop", region_id: "aws-us-east-2", pg_version: 17, locked: true }, { id: "blog" }];
    session.probe();
    await clock.settle();
    const shown = status({ projectCount: 9, projects: [{ id: "old" }] });
    expect(shown).toMatchObject({ observedGeneration: 7, keyType: "organization", projectCount: 2 });
    expect(shown.conditions).toMatchObject([{ type: "Ready", status: "True", observedGeneration: 7 }]);
    expect(shown.projects).toEqual([
      { id: "blog" },
      { id: "shop", name: "Shop", regionID: "aws-us-east-2", pgVersion: 17, locked: true },
    ]);
  });

  test("keeps what was seen before where the connection cannot be used", () => {
    const before = { projectCount: 1, projects: [{ id: "old" }] };
    expect(status(before, [], {})).toMatchObject({ ...before, keyType: "unknown" });
    expect(status(before)).toMatchObject(before);
  });

  test("shows the orphans of its own projects, and of others as another process reported them, sorted", async () => {
    orphaned = { shop: ["ep-c"] };
    await judged("shop");
    const before = { orphanedEndpoints: orphans(["ep-old", "shop"], ["ep-b", "blog"], ["ep-a", "wiki"]) };
    expect(status(before, [user("shop"), user("blog")])).toMatchObject({
      orphanedEndpoints: orphans(["ep-b", "blog"], ["ep-c", "shop"]),
      orphanedEndpointCount: 2,
    });
    const none = status({ orphanedEndpoints: orphans(["ep-a", "wiki"]) }, []);
    expect(Object.keys(none)).not.toContain("orphanedEndpoints");
    expect(Object.keys(none)).not.toContain("orphanedEndpointCount");
  });

  test("the status is reported again where the orphans have changed", async () => {
    const before = reportOf(status({}), session);
    orphaned = { shop: ["ep-c"] };
    await judged("shop");
    expect(reportOf(status({}), session)).not.toBe(before);
  });
});
