import { describe, expect, test } from "vitest";
import { conditionOf } from "../../../src/operator/objects/conditions-of.ts";
import { refusal } from "../../support/scripted-service.ts";
import { ours, secrets, setUp } from "./setting.ts";

const inUse = "compute-operator.dev/in-use";
type World = ReturnType<typeof setUp>;

function patch({ cluster }: World, path: string, ...body: object[]): void {
  cluster.server.handle({ method: "PATCH", path, body, contentType: "application/json-patch+json" });
}

const statusPatches = ({ cluster }: World) =>
  cluster.requests.filter(({ method, path }) => method === "PATCH" && path.endsWith("/status")).length;

/** The connection and its Secret, as the watch delivers them. */
function objects(world: World) {
  const [[connection], [secret]] = [world.connectionsNow(), world.stored()];
  if (connection === undefined || secret === undefined) throw new Error("connection or Secret are missing");
  return { connection, secret };
}

describe("a connection that is deleted", () => {
  test("a connection deleted before its first reconcile releases its Secret, wakes its Computes once, and ends its session", async () => {
    const world = setUp();
    const { connection, secret } = objects(world);
    patch(world, `${secrets}/service`, { op: "add", path: "/metadata/finalizers", value: [inUse] });
    // The cache does not show yet that the Secret is held.
    world.lag({ secrets: [secret] });
    world.reconciler().delivered(connection);
    world.remove(`${ours}/serviceconnections/default`);
    await world.reconciler().reconcile(connection.metadata.uid);
    expect([world.finalizersOf().secret ?? [], world.woken]).toEqual([[], ["default/default"]]);
    const sent = world.cluster.requests.length;
    await world.reconciler().reconcile(connection.metadata.uid);
    expect([world.cluster.requests.length, world.woken.length]).toEqual([sent, 1]);
  });

  test("a deleted connection is reconciled again where its Secret could not be released", async () => {
    const world = setUp();
    const { connection } = objects(world);
    patch(world, `${secrets}/service`, { op: "add", path: "/metadata/finalizers", value: [inUse] });
    world.reconciler().delivered(connection);
    world.remove(`${ours}/serviceconnections/default`);
    world.cluster.fate = ({ method }) => (method === "PATCH" ? { kind: "status", afterMs: 0, status: 500 } : undefined);
    await expect(world.reconciler().reconcile(connection.metadata.uid)).rejects.toThrow("500");
    world.cluster.fate = () => undefined;
    await world.reconciler().reconcile(connection.metadata.uid);
    expect([world.finalizersOf().secret ?? [], world.woken]).toEqual([[], ["default/default"]]);
  });

  test("ends its session, as one whose Secret is gone does", async () => {
    for (const path of [`${ours}/serviceconnections/default`, `${secrets}/service`]) {
      const world = setUp();
      await world.reconcile();
      expect([...world.connections.sessions]).toHaveLength(1);
      world.remove(path);
      await world.reconcile();
      expect([...world.connections.sessions]).toEqual([]);
    }
  });

  test("waits for the endpoint of a Compute that is being deleted", async () => {
    const world = setUp();
    world.use("db", ["compute-operator.dev/endpoint"]);
    await world.reconcile();
    world.remove(`${ours}/computes/db`);
    world.remove(`${ours}/serviceconnections/default`);
    await world.reconcile();
    expect(conditionOf(world.status() ?? {}, "Ready")).toMatchObject({
      reason: "Deleting",
      message: expect.stringMatching(/they are being deleted, and need it for that\.$/),
    });
  });
});

describe("a Secret that is delivered", () => {
  test("a delivered Secret is reconciled only where it is being deleted and held: its connection may be gone unseen", async () => {
    const world = setUp();
    const shown = () => world.reconciler().secretDelivered(objects(world).secret);
    expect(shown()).toBe(false);
    patch(world, `${secrets}/service`, { op: "add", path: "/metadata/finalizers", value: [inUse] });
    expect(shown()).toBe(false);
    world.remove(`${ours}/serviceconnections/default`);
    world.remove(`${secrets}/service`);
    const [held] = world.stored();
    if (held === undefined) throw new Error("the Secret is gone");
    expect(world.reconciler().secretDelivered(held)).toBe(true);
    await world.reconciler().reconcile(held.metadata.uid);
    expect(world.stored()).toEqual([]);
  });

  test("a delivered Secret is not reconciled where it is being deleted and others hold it", () => {
    const world = setUp();
    patch(world, `${secrets}/service`, { op: "add", path: "/metadata/finalizers", value: ["other.example/holds"] });
    world.remove(`${secrets}/service`);
    expect(world.reconciler().secretDelivered(objects(world).secret)).toBe(false);
  });
});

describe("the Computes of a connection", () => {
  async function settled() {
    const world = setUp();
    world.use();
    await world.reconcile();
    world.woken.length = 0;
    return world;
  }

  test("Computes are not woken where the watch delivers their connection unchanged, nor where its service stops answering", async () => {
    const world = await settled();
    world.reconciler().delivered(objects(world).connection);
    await world.reconcile();
    world.service.script = () => refusal(500);
    for (const ms of [700_000, 5000]) {
      await world.cluster.clock.advance(ms);
      await world.reconcile();
    }
    expect(conditionOf(world.status() ?? {}, "Ready")?.reason).toBe("Unreachable");
    expect(world.woken).toEqual([]);
  });

  test("Computes are woken once where their connection gets a key that another connection has found good", async () => {
    const world = await settled();
    const post = (path: string, body: object) => world.cluster.server.handle({ method: "POST", path, body });
    const { connection, secret } = objects(world);
    post(secrets, { metadata: { name: "other" }, type: secret.type, data: { "api-key": "bmV3" } });
    const spec = { ...connection.spec, apiKeySecretRef: { name: "other" } };
    const { apiVersion, kind } = connection;
    post(`${ours}/serviceconnections`, { apiVersion, kind, metadata: { name: "other" }, spec });
    const { uid = "" } = world.connectionsNow().find(({ metadata }) => metadata.name === "other")?.metadata ?? {};
    for (let n = 0; n < 3; n += 1) {
      await world.reconciler().reconcile(uid);
      await world.cluster.clock.settle();
    }
    world.woken.length = 0;
    patch(world, `${secrets}/service`, { op: "replace", path: "/data/api-key", value: "bmV3" });
    await world.reconcile();
    expect(world.woken).toEqual(["default/default"]);
  });

  test("Computes are woken once where their connection has no key any more, and where another reason comes for that", async () => {
    const world = await settled();
    patch(world, `${secrets}/service`, { op: "replace", path: "/data", value: {} });
    await world.reconcile();
    expect(world.woken.splice(0)).toEqual(["default/default"]);
    const value = "https://elsewhere.example.com/api/v2";
    patch(world, `${ours}/serviceconnections/default`, { op: "replace", path: "/spec/baseURL", value });
    await world.reconcile();
    expect(world.woken).toEqual(["default/default"]);
  });

  test("Computes are woken once where their connection comes to be held for the first of them", async () => {
    const world = setUp();
    await world.reconcile();
    world.woken.length = 0;
    world.use();
    await world.reconcile();
    expect(world.view().kind).toBe("open");
    expect(world.woken).toEqual(["default/default"]);
  });

  test("Computes are woken once where the finalizer of their connection is lost and refused", async () => {
    const world = await settled();
    world.dropFinalizers();
    world.cluster.fate = ({ method, path }) =>
      method === "PATCH" && !path.endsWith("/status") ? { kind: "status", afterMs: 0, status: 403 } : undefined;
    await expect(world.reconcile()).rejects.toThrow("hands off");
    expect(world.woken).toEqual(["default/default"]);
  });
});

test("a late status, of several whose replies were lost, is overwritten", async () => {
  const world = setUp();
  const { clock } = world.cluster;
  await world.reconcile();
  patch(world, `${secrets}/service`, { op: "replace", path: "/data/api-key", value: "bmV3" });
  world.cluster.fate = ({ method }) =>
    method === "PATCH" ? { kind: "answered", arriveMs: 20_000, replyMs: 0 } : undefined;
  const late = world.reconcile().catch((error: unknown) => error);
  await clock.advance(5000);
  expect(String(await late)).toContain("no answer");
  world.cluster.fate = ({ method }) => (method === "PATCH" ? { kind: "lost", arriveMs: 0, afterMs: 0 } : undefined);
  await expect(world.reconcile()).rejects.toThrow("no answer");
  world.cluster.fate = () => undefined;
  await world.reconcile();
  await clock.advance(30_000);
  expect(world.status()).toMatchObject({ conditions: [{ reason: "Unreachable" }, { type: "Reconciling" }] });
  await world.reconcile();
  expect(world.status()).toMatchObject({ keyType: "personal", conditions: [{ reason: "Authenticated" }] });
});

test.each([
  [1, "True", "as seen before", "is kept"],
  [0, "Unknown", "The service has not answered yet.", "is replaced, because it is about another spec"],
])(
  "the status of an earlier process, of generation %i, is %s, %j, until the service answers: it %s",
  async (observedGeneration, status, message) => {
    const world = setUp();
    const at = { observedGeneration, lastTransitionTime: "2026-01-01T00:00:00Z" };
    const before = { type: "Ready", status: "True", reason: "Authenticated", message: "as seen before", ...at };
    world.setStatus({ observedGeneration, conditions: [before] });
    const { script } = world.service;
    let answer = () => {};
    world.service.script = (request) =>
      new Promise((resolve) => {
        answer = () => resolve(script(request));
      });
    await world.reconcile();
    const shown = () => conditionOf(world.status() ?? {}, "Ready");
    expect(shown()).toMatchObject({ status, message });
    for (let n = 0; n < 2; n += 1) {
      answer();
      await world.cluster.clock.settle();
    }
    await world.reconcile();
    expect(shown()).toMatchObject({ status: "True", message: "The service accepts the API key." });
  },
);

describe("where /auth does not answer this process", () => {
  const noAuth = (world: World) => {
    const { script } = world.service;
    world.service.script = (request) => (request.path === "/auth" ? refusal(503) : script(request));
    return script;
  };

  test("the type of a key stays as another process found it, also where that is found later", async () => {
    const world = setUp();
    await world.reconcile();
    const sent = statusPatches(world);
    const { connection } = objects(world);
    world.connections.quit(connection.metadata.uid);
    noAuth(world);
    world.restart();
    await world.reconcile();
    expect([statusPatches(world), world.status()]).toMatchObject([sent, { keyType: "personal" }]);
    world.setStatus({ ...world.status(), keyType: "organization" });
    await world.cluster.clock.advance(3_600_000);
    await world.reconcile();
    expect([statusPatches(world), world.status()]).toMatchObject([sent, { keyType: "organization" }]);
  });

  test("the type of a new key is unknown at first, and stays as found later", async () => {
    const world = setUp();
    await world.reconcile();
    noAuth(world);
    patch(world, `${secrets}/service`, { op: "replace", path: "/data/api-key", value: "bmV3" });
    await world.reconcile();
    expect(world.status()).toMatchObject({ keyType: "unknown", conditions: [{ reason: "Authenticated" }] });
    world.setStatus({ ...world.status(), keyType: "organization" });
    await world.cluster.clock.advance(20_000);
    await world.reconcile();
    expect(world.status()).toMatchObject({ keyType: "organization" });
  });

  test("the type of a new key is unknown also where the first write that said so did not arrive", async () => {
    const world = setUp();
    await world.reconcile();
    noAuth(world);
    patch(world, `${secrets}/service`, { op: "replace", path: "/data/api-key", value: "bmV3" });
    world.cluster.fate = ({ method }) => (method === "PATCH" ? { kind: "refused", afterMs: 0 } : undefined);
    await expect(world.reconcile()).rejects.toThrow("no answer");
    world.cluster.fate = () => undefined;
    await world.reconcile();
    expect(world.status()).toMatchObject({ keyType: "unknown" });
  });

  test.each<[string, (world: World) => void, string]>([
    ["the Secret was deleted", ({ remove }) => remove(`${secrets}/service`), "SecretNotFound"],
    [
      "the connection was edited",
      (world) =>
        patch(world, `${ours}/serviceconnections/default`, { op: "add", path: "/spec/organizationID", value: "org-a" }),
      "Authenticated",
    ],
  ])("the type of a key is not what an earlier process found where %s since", async (_, change, reason) => {
    const world = setUp();
    await world.reconcile();
    world.connections.quit(objects(world).connection.metadata.uid);
    noAuth(world);
    change(world);
    world.restart();
    await world.reconcile();
    expect(world.status()?.keyType).toBe("unknown");
    expect(conditionOf(world.status() ?? {}, "Ready")?.reason).toBe(reason);
  });
});
