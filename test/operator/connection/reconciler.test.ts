import { describe, expect, test } from "vitest";
import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import { json, refusal } from "../../support/scripted-service.ts";
import type { MemoryCluster } from "../kube/memory-cluster.ts";
import { ours, secrets, setUp } from "./setting.ts";

const inUse = ["compute-operator.dev/in-use"];

/** Somebody puts another key into the Secret. */
function changeKey(cluster: MemoryCluster): void {
  const body = [{ op: "replace", path: "/data/api-key", value: "bmV3" }];
  const path = `${secrets}/service`;
  cluster.server.handle({ method: "PATCH", path, body, contentType: "application/json-patch+json" });
}

const none = (finalizers: readonly string[] | undefined) => finalizers ?? [];

describe("a ServiceConnection", () => {
  test("tells what kind of key it has and which projects that reaches, sorted", async () => {
    const { reconcile, status } = setUp();
    await reconcile();
    expect(status()).toMatchObject({
      observedGeneration: 1,
      keyType: "personal",
      projectCount: 2,
      projects: [{ id: "aaa" }, { id: "shop", name: "shop" }],
    });
    expect(conditionOf(status() ?? {}, "Ready")).toMatchObject({ status: "True", reason: "Authenticated" });
  });

  test("tells how many projects there are, and of a great many the first hundred", async () => {
    const { reconcile, service, status } = setUp();
    const { script } = service;
    const projects = Array.from({ length: 250 }, (_, n) => ({ id: `p-${String(249 - n).padStart(3, "0")}` }));
    service.script = (request) => (request.path === "/projects" ? json(200, { projects }) : script(request));
    await reconcile();
    expect(status()).toMatchObject({ projectCount: 250 });
    expect(status()?.projects?.map(({ id }) => id)).toEqual(
      projects
        .map(({ id }) => id)
        .toSorted()
        .slice(0, 100),
    );
  });

  test("a connection that many Computes use reads only as many as show that it is used", async () => {
    const { reconcile, use, usersRead } = setUp();
    for (let n = 0; n < 100; n += 1) use(`db-${n}`);
    await reconcile();
    usersRead.count = 0;
    await reconcile();
    expect(usersRead.count).toBeGreaterThan(0);
    expect(usersRead.count).toBeLessThan(10);
  });

  test.each([
    ["Unauthorized", 401],
    ["Unreachable", 500],
  ])("a connection is %s where the service answers %i", async (reason, code) => {
    const { reconcile, service, status, cluster } = setUp();
    service.script = () => refusal(code, "bad");
    await reconcile();
    await cluster.clock.advance(5000);
    await reconcile();
    expect(conditionOf(status() ?? {}, "Ready")).toMatchObject({ status: "False", reason });
  });
});

test("the log has one line for each turn of a connection, a warning where it cannot be used, and again after a restart", async () => {
  const { reconcile, restart, service, cluster, lines } = setUp();
  const { script } = service;
  await reconcile();
  service.script = () => refusal(401, "revoked");
  await cluster.clock.advance(700_000);
  await reconcile();
  await cluster.clock.advance(5000);
  await reconcile();
  restart();
  await reconcile();
  service.script = script;
  await cluster.clock.advance(700_000);
  await reconcile();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: "warn", reason: "Unauthorized", message: expect.stringContaining("revoked") },
    { level: "warn", namespace: "default", connection: "default", reason: "Unauthorized" },
    { level: "info", reason: "Authenticated" },
  ]);
});

describe("a changed key", () => {
  test("a changed key is reported in the end, also if the watch lags behind earlier reports", async () => {
    const { cluster, reconcile, lag, connectionsNow, status } = setUp();
    await reconcile();
    lag({ connections: connectionsNow() });
    changeKey(cluster);
    await reconcile();
    lag({});
    await reconcile();
    expect(status()).toMatchObject({ keyType: "personal", conditions: [{ reason: "Authenticated" }] });
  });
});

describe("a status whose reply was lost", () => {
  test("does not replace the present status: it is written again", async () => {
    const { cluster, reconcile, status } = setUp();
    await reconcile();
    changeKey(cluster);
    cluster.fate = ({ method }) => (method === "PATCH" ? { kind: "lost", arriveMs: 0, afterMs: 0 } : undefined);
    await expect(reconcile()).rejects.toThrow("no answer");
    expect(status()).toMatchObject({ conditions: [{ reason: "Unreachable" }, { type: "Reconciling" }] });
    cluster.fate = () => undefined;
    await reconcile();
    expect(status()).toMatchObject({ keyType: "personal", conditions: [{ reason: "Authenticated" }] });
  });

  test("does not overwrite the next one when it takes effect late", async () => {
    const { cluster, reconcile, status } = setUp();
    await reconcile();
    changeKey(cluster);
    cluster.fate = ({ method }) =>
      method === "PATCH" ? { kind: "answered", arriveMs: 20_000, replyMs: 0 } : undefined;
    const failure = reconcile().catch((error: unknown) => error);
    await cluster.clock.advance(5000);
    expect(String(await failure)).toContain("no answer");
    cluster.fate = () => undefined;
    await reconcile();
    await cluster.clock.advance(30_000);
    await reconcile();
    expect(status()).toMatchObject({ keyType: "personal", conditions: [{ reason: "Authenticated" }] });
  });
});

describe("the finalizers of connection and Secret", () => {
  test("stand while a Compute uses the connection, and not before", async () => {
    const { reconcile, use, finalizersOf } = setUp();
    await reconcile();
    expect([none(finalizersOf().connection), none(finalizersOf().secret)]).toEqual([[], []]);
    use();
    await reconcile();
    expect(finalizersOf()).toEqual({ connection: inUse, secret: inUse });
  });

  test("finalizers that the API server refuses are reported, to the Computes too, until it accepts them", async () => {
    const { reconcile, use, cluster, status, view, woken, finalizersOf } = setUp();
    await reconcile();
    use();
    const guarding = ({ method, path }: { method: string; path: string }) =>
      method === "PATCH" && path.includes("secrets");
    cluster.fate = (request) => (guarding(request) ? { kind: "status", afterMs: 0, status: 403 } : undefined);
    await expect(reconcile()).rejects.toThrow("hands off");
    const reported = expect.stringMatching(/refused the operator's finalizer .* hands off.* retried automatically/);
    expect(status()?.conditions).toMatchObject([
      { status: "False", reason: "NotAllowed", message: reported },
      { type: "Stalled", status: "True", reason: "NotAllowed" },
    ]);
    expect(view()).toMatchObject({ kind: "closed", reason: "ConnectionNotReady", message: reported });
    expect(woken).toContain("default/default");
    cluster.fate = () => undefined;
    await reconcile();
    expect(finalizersOf()).toEqual({ connection: inUse, secret: inUse });
    expect(view().kind).toBe("open");
    expect(status()?.conditions).toMatchObject([{ status: "True", reason: "Authenticated" }]);
  });

  test("keep both while the namespace goes, Secret first, until the last Compute is gone", async () => {
    const { reconcile, use, restart, remove, stored, connectionsNow } = setUp();
    use();
    await reconcile();
    remove(`${secrets}/service`);
    remove(`${ours}/serviceconnections/default`);
    await reconcile();
    expect([stored().length, connectionsNow().length]).toEqual([1, 1]);
    remove(`${ours}/computes/db`);
    restart();
    await reconcile();
    expect([stored().length, connectionsNow().length]).toEqual([0, 0]);
  });

  test("stay on the Secret where the cache does not show yet that another shard has guarded its connection", async () => {
    const { reconcile, use, lag, connectionsNow, finalizersOf } = setUp();
    const before = connectionsNow();
    use();
    await reconcile();
    lag({ connections: before });
    await reconcile();
    expect(finalizersOf()).toEqual({ connection: inUse, secret: inUse });
  });

  test("fall from the Secret too where the cache does not show yet that it has one", async () => {
    const { reconcile, use, lag, remove, stored, connectionsNow } = setUp();
    const before = stored();
    use();
    await reconcile();
    for (const path of [`${ours}/computes/db`, `${secrets}/service`, `${ours}/serviceconnections/default`])
      remove(path);
    lag({ secrets: before });
    await reconcile();
    expect([stored().length, connectionsNow().length]).toEqual([0, 0]);
  });
});

describe("a service that takes the key and lists no projects", () => {
  test.each([
    [400, "org_id is required", undefined, "True", "org_id is required. Name the organization in spec.organizationID."],
    [404, "organization not found", "org-x", "True", "organization not found. Check spec.organizationID"],
    [
      404,
      "this route does not exist",
      undefined,
      "False",
      "GET /projects: this route does not exist.*check spec.baseURL",
    ],
  ])("with %i %s says what to do", async (code, message, organizationID, status, text) => {
    const world = setUp(organizationID === undefined ? {} : { organizationID });
    const { script } = world.service;
    world.service.script = (request) => (request.path === "/projects" ? refusal(code, message) : script(request));
    await world.reconcile();
    expect(conditionOf(world.status() ?? {}, "Ready")).toMatchObject({
      status,
      message: expect.stringMatching(new RegExp(text)),
    });
  });
});

test("Computes are enqueued only when what they may do through the connection changes", async () => {
  const { reconcile, woken } = setUp();
  await reconcile();
  const first = woken.splice(0).length;
  expect(first).toBeGreaterThan(0);
  await reconcile();
  expect(woken).toEqual([]);
});

test("Computes are woken although the API server takes no status of the connection", async () => {
  const { cluster, reconcile, service, woken } = setUp();
  const { script } = service;
  await reconcile();
  service.script = () => refusal(401, "revoked");
  await cluster.clock.advance(700_000);
  await reconcile();
  await cluster.clock.advance(5000);
  await reconcile();
  woken.length = 0;
  service.script = script;
  cluster.fate = ({ path }) => (path.endsWith("/status") ? { kind: "status", afterMs: 0, status: 403 } : undefined);
  await cluster.clock.advance(700_000);
  await expect(reconcile()).rejects.toThrow("hands off");
  expect(woken).toEqual(["default/default"]);
});
