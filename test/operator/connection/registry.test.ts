import { describe, expect, test } from "vitest";
import type { ConnectionCache } from "../../../src/operator/connection/registry.ts";
import { SessionRegistry } from "../../../src/operator/connection/registry.ts";
import { Budgets } from "../../../src/operator/service-client/budgets.ts";
import { compute } from "../../support/builders.ts";
import { connection, withoutCluster } from "../../support/connections.ts";
import { json, refusal, ScriptedService } from "../../support/scripted-service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { setUp } from "./joined.ts";

/** Two connections of the team with the same account; only the first has joined its session. */
function twins() {
  return setUp({ connections: [connection(), connection({ name: "twin", uid: "connection-2" })] });
}

const of = (name: string) => compute({ spec: { projectID: "shop", connectionRef: { name } } });

describe("a connection that has not joined the session of its account yet", () => {
  test("shows its Computes nothing, though another connection has joined it", async () => {
    const { probed, join, view, cached } = twins();
    await probed();
    expect([view().kind, view("twin").kind]).toEqual(["open", "pending"]);
    join(cached[1] ?? connection());
    expect(view("twin").kind).toBe("open");
  });

  test("a connection has reached no project before it joins, and one that has joined has reached those that were listed", async () => {
    const { clock, probed, connections } = twins();
    const session = await probed();
    expect(connections.reachedThrough(of("default"))).toBeUndefined();
    session.project("shop").use("uid", undefined);
    await clock.advance(0);
    expect([connections.reachedThrough(of("default")), connections.reachedThrough(of("twin"))]).toEqual([
      session.fingerprint,
      undefined,
    ]);
  });

  test("shows nothing after it has quit, while another connection keeps the session", async () => {
    const { probed, join, view, connections, cached } = twins();
    const session = await probed();
    join(cached[1] ?? connection());
    connections.quit("connection-1");
    expect([view().kind, view("twin").kind]).toEqual(["pending", "open"]);
    expect(connections.sessionOf(cached[0] ?? connection())).toBeUndefined();
    expect(connections.sessionOf(cached[1] ?? connection())).toBe(session);
  });
});

test("a refusal of finalizers counts until they are accepted", () => {
  const own = connection({ guarded: false });
  const { connections } = setUp({ connections: [own] });
  connections.setFinalizerRefusal("connection-1", "a policy says no");
  expect(connections.resolved(own)).toMatchObject({
    kind: "refused",
    reason: "NotAllowed",
    message: "a policy says no",
  });
  connections.setFinalizerRefusal("connection-1", undefined);
  expect(connections.resolved(own).kind).toBe("account");
});

test("all sessions end with their registry", () => {
  const { join, connections } = setUp();
  const session = join(connection());
  connections.stop();
  expect(session.signal.aborted).toBe(true);
});

test("a session that no probe has answered for shows nothing yet", () => {
  const { join, view } = setUp();
  join(connection());
  expect(view()).toEqual({ kind: "pending" });
});

test("a Compute is a user of a connection that does not exist, and granted none", () => {
  const { connections } = setUp();
  expect([connections.isUser(of("default")), connections.isGranted(of("default"))]).toEqual([true, true]);
  expect([connections.isUser(of("none")), connections.isGranted(of("none"))]).toEqual([true, false]);
});

test("a Compute's service is unreachable only where the probe of its connection finds it so", async () => {
  const { clock, answers, probed, connections } = setUp();
  const session = await probed();
  const unreachable = () => [of("default"), of("none")].map((user) => connections.isUnreachable(user));
  expect(unreachable()).toEqual([false, false]);
  answers["/projects"] = () => refusal(500);
  for (let n = 0; n < 2; n += 1) {
    await clock.advance(session.state.probeInMs ?? 0);
    session.probe();
    await clock.settle();
  }
  expect(unreachable()).toEqual([true, false]);
});

test("a process that has a share of the budget gets this share of its rate", async () => {
  const requestBudget = { perMinute: 120, burst: 4 };
  const { clock, join } = setUp({ budgetShare: 0.25 });
  const { budget } = join(connection({ spec: { requestBudget } }));
  expect([budget.takeSpare(), budget.takeSpare()]).toEqual([true, false]);
  await clock.advance(1999);
  expect(budget.available).toBe(0);
  await clock.advance(1);
  expect(budget.available).toBe(1);
});

describe("a Compute whose connection cannot be read", () => {
  function registryWith(cache: Partial<ConnectionCache>) {
    const clock = new VirtualClock();
    return new SessionRegistry({
      log: silentLogger,
      cache: { connection: () => undefined, secret: () => undefined, ...withoutCluster, ...cache },
      allowedBaseURLs: ["https://service.example.com/api/v2"],
      budgetShare: 1,
      transport: new ScriptedService(() => json(200, {})),
      budgets: new Budgets(clock),
      namesShownBy: new Set<string>(),
      clock,
      beforeWrite: () => {},
      signal: new AbortController().signal,
      enqueue: () => {},
      enqueueConnections: () => {},
    });
  }
  const through = compute({ spec: { connectionRef: { kind: "ClusterServiceConnection", name: "fleet" } } });

  const missing = /^There is no Secret "service" of type compute-operator.dev.api-key in this namespace\./;

  test("a connection of the cluster that cannot be read says why and what to do", () => {
    const said = (["notWatched", "unserved", "served"] as const).map((clusterConnections) =>
      registryWith({ clusterConnections: () => clusterConnections }).view(through),
    );
    expect(said).toEqual([
      {
        kind: "closed",
        reason: "ConnectionNotReady",
        message: expect.stringMatching(/^This operator watches some namespaces only \(--namespace\)/),
      },
      {
        kind: "closed",
        reason: "ConnectionNotReady",
        message: expect.stringMatching(/^The operator cannot read ClusterServiceConnections\. Have an administrator/),
      },
      {
        kind: "closed",
        reason: "ConnectionNotFound",
        message: expect.stringMatching(/^There is no ClusterServiceConnection "fleet"\./),
      },
    ]);
    const own = registryWith({ connection: () => connection() }).view(compute());
    expect(own).toMatchObject({ kind: "closed", message: expect.stringMatching(/: There is no Secret "service"/) });
  });

  test("a Compute whose Secret is missing, or whose operator may not read Secrets, says which", () => {
    const said = [false, true].map((lacksSecrets) =>
      registryWith({ lacksSecrets: () => lacksSecrets }).resolved(connection()),
    );
    expect(said).toEqual([
      { kind: "refused", reason: "SecretNotFound", message: expect.stringMatching(missing) },
      {
        kind: "refused",
        reason: "NotAllowed",
        message: expect.stringMatching(/^The operator may not read Secrets in this namespace\. Use a Cluster/),
      },
    ]);
  });
});
