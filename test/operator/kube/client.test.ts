import { describe, expect, test } from "vitest";
import { ClusterClient } from "../../../src/operator/kube/client.ts";
import {
  ClusterError,
  ClusterUnreachable,
  isAlreadyExists,
  isConflict,
  isNotFound,
} from "../../../src/operator/kube/errors.ts";
import { guardedPatch } from "../../../src/operator/kube/json-patch.ts";
import { pathOf } from "../../../src/operator/kube/objects.ts";
import type { ClusterTransport } from "../../../src/operator/kube/transport.ts";
import { sleep } from "../../../src/operator/runtime/clock.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { configMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";

const ref = { namespace: "default", name: "x" };

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("a read with a Retry-After is sent again after that time, a few times", async () => {
  const cluster = new MemoryCluster();
  cluster.fate = () => ({ kind: "status", afterMs: 0, status: 429, retryAfterMs: 2000 });
  const outcome = errorOf(cluster.client().get(configMaps, ref));
  await cluster.clock.advance(60_000);
  expect(await outcome).toMatchObject({ status: 429, retryAfterMs: 2000 });
  expect(cluster.requests).toHaveLength(4);

  const second = cluster.client().get(configMaps, ref);
  await cluster.clock.advance(1000);
  cluster.fate = () => undefined;
  await cluster.clock.advance(1000);
  expect(await second).toBeUndefined();
});

test("the answer to a write is passed on before its caller receives it: what was created, changed, or is to go", async () => {
  const cluster = new MemoryCluster();
  const answers: unknown[] = [];
  const client = cluster.client({
    onAnswer: (kind, { metadata }, { created }) =>
      answers.push([kind.plural, created, metadata.resourceVersion, metadata.deletionTimestamp !== undefined]),
  });
  const made = await client.create(configMaps, configMap("default", "x", { finalizers: ["example.com/held"] }));
  expect(answers).toEqual([["configmaps", true, made.metadata.resourceVersion, false]]);
  const changed = await client.patch(configMaps, ref, guardedPatch(made).setAnnotation("a", "b").ops());
  expect(answers[1]).toEqual(["configmaps", false, changed.metadata.resourceVersion, false]);
  await client.delete(configMaps, ref);
  const terminating = await client.get(configMaps, ref);
  expect(answers[2]).toEqual(["configmaps", false, terminating?.metadata.resourceVersion, true]);
  // What nothing holds is answered with a Status, which is no object.
  await client.create(configMaps, configMap("default", "y"));
  await client.delete(configMaps, { ...ref, name: "y" });
  expect(answers).toHaveLength(4);
});

test.each([
  ["429", { kind: "status", afterMs: 0, status: 429, retryAfterMs: 10 }],
  ["500", { kind: "status", afterMs: 0, status: 500 }],
  ["a lost answer", { kind: "lost", arriveMs: 0, afterMs: 0 }],
  ["a refused connection", { kind: "refused", afterMs: 0 }],
] as const)("a write is sent once, whatever happens: %s", async (_what, fate) => {
  const cluster = new MemoryCluster();
  cluster.fate = () => fate;
  const outcome = errorOf(cluster.client().create(configMaps, configMap("default", "x")));
  await cluster.clock.advance(60_000);
  expect(await outcome).toBeInstanceOf(Error);
  expect(cluster.requests).toHaveLength(1);
});

test("a write without an answer is unreachable, with the cause", async () => {
  const cluster = new MemoryCluster();
  cluster.fate = () => ({ kind: "lost", arriveMs: 0, afterMs: 0 });
  const error = await errorOf(cluster.client().create(configMaps, configMap("default", "x")));
  expect(error).toBeInstanceOf(ClusterUnreachable);
  expect(error).toMatchObject({ message: "POST /api/v1/namespaces/default/configmaps: no answer" });
  expect(cluster.outside.names()).toEqual(["x"]);
});

test("a refused write says what was asked and what the API server said", async () => {
  const client = new MemoryCluster().client();
  await client.create(configMaps, configMap("default", "x"));
  const error = await errorOf(client.create(configMaps, configMap("default", "x")));
  expect(error).toBeInstanceOf(ClusterError);
  expect([isAlreadyExists(error), isConflict(error)]).toEqual([true, false]);
  expect(error).toMatchObject({
    message: 'POST /api/v1/namespaces/default/configmaps: 409 configmaps "x" already exists',
  });
});

test("a write deletes only the object meant, and takes one that is gone for deleted", async () => {
  const client = new MemoryCluster().client();
  const { uid } = (await client.create(configMaps, configMap("default", "x"))).metadata;
  expect(isConflict(await errorOf(client.delete(configMaps, { ...ref, uid: "another" })))).toBe(true);
  await client.delete(configMaps, { ...ref, uid });
  await client.delete(configMaps, { ...ref, uid });
  expect(isNotFound(await errorOf(client.patch(configMaps, ref, [])))).toBe(true);
});

describe("a path", () => {
  const computes = {
    group: "compute-operator.dev",
    version: "v1alpha1",
    plural: "computes",
    kind: "Compute",
    namespaced: true,
  };
  test("the path of one object of a namespaced kind needs a namespace", () => {
    expect(() => pathOf(computes, { name: "a" })).toThrow("Compute a needs a namespace");
  });
});

/** A client whose API server answers this, and what it was asked and told. */
function answered(status: number, body: unknown) {
  const asked: unknown[] = [];
  const ended: unknown[] = [];
  const clock = new VirtualClock();
  const transport: ClusterTransport = {
    request: async (request, options) => {
      asked.push({ ...request, timeoutMs: options.timeoutMs, signal: options.signal });
      await sleep(clock, 2000, options.signal);
      return { status, body };
    },
    watch: (request, options) => {
      asked.push({ ...request, idleTimeoutMs: options.idleTimeoutMs });
      return { [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }) };
    },
  };
  const { signal } = new AbortController();
  const onRequest = ({ method }: { method: string }, code: number, seconds: number) =>
    ended.push([method, code, seconds]);
  const client = new ClusterClient(transport, { clock, timeoutMs: 3000, signal, onRequest });
  const call = async (done: Promise<unknown>) => {
    const outcome = errorOf(done);
    await clock.advance(5000);
    return outcome;
  };
  return { asked, ended, client, call, signal };
}

describe("a request", () => {
  const path = "/api/v1/namespaces/default/configmaps";

  test("asks for a page of a list with what is given, and nothing else", async () => {
    const { client, call, asked, ended } = answered(200, { items: [], metadata: { resourceVersion: "7" } });
    const selection = { namespace: "default", labelSelector: "a=b", fieldSelector: "metadata.name=x" };
    const given = { limit: 5, continue: undefined, resourceVersion: "0" };
    expect(await call(client.listPage(configMaps, { ...selection, ...given }))).toBeUndefined();
    const { namespace: _, ...selected } = selection;
    expect(asked).toMatchObject([{ method: "GET", path, timeoutMs: 3000 }]);
    expect(asked).toHaveProperty([0, "query"], { ...selected, limit: "5", resourceVersion: "0" });
    expect(ended).toEqual([["GET", 200, 2]]);
  });

  test("watches with bookmarks", () => {
    const { client, asked, signal } = answered(200, undefined);
    client.watch(
      configMaps,
      { namespace: "default", resourceVersion: "7", timeoutSeconds: 60 },
      { signal, idleTimeoutMs: 9 },
    );
    const query = { resourceVersion: "7", timeoutSeconds: "60", watch: "true", allowWatchBookmarks: "true" };
    expect(asked).toEqual([{ path, query, idleTimeoutMs: 9 }]);
  });

  test("deletes the version that it is given, and no other", async () => {
    const { client, call, asked } = answered(200, { kind: "Status" });
    const version = { uid: "u-1", resourceVersion: "7" };
    expect(await call(client.delete(configMaps, { ...ref, ...version }))).toBeUndefined();
    const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions: version };
    expect(asked).toMatchObject([{ method: "DELETE", path: `${path}/x`, body }]);
  });

  test("patches the status as its own resource", async () => {
    const { client, call, asked } = answered(404, { message: "no" });
    const failed = await call(client.patch(configMaps, ref, [], { subresource: "status" }));
    expect(failed).toMatchObject({ message: `PATCH ${path}/x/status: 404 no` });
    expect(asked).toMatchObject([{ method: "PATCH", contentType: "application/json-patch+json", body: [] }]);
  });

  test.each<[string, number, unknown, string]>([
    [
      "another kind",
      200,
      { kind: "Secret", metadata: { name: "x", uid: "u", resourceVersion: "1" } },
      "a ConfigMap with",
    ],
    ["no uid", 200, { kind: "ConfigMap", metadata: { name: "x" } }, "the answer of the API server is not a ConfigMap"],
    ["a redirect", 300, { kind: "ConfigMap" }, `GET ${path}/x: 300 without a Status in the answer`],
    ["an odd success", 199, {}, `GET ${path}/x: 199 without`],
  ])("an answer that is %s is no object", async (_, status, body, message) => {
    const { client, call } = answered(status, body);
    expect(await call(client.get(configMaps, ref))).toMatchObject({ message: expect.stringContaining(message) });
  });

  test.each<[string, unknown]>([
    ["no items", { metadata: { resourceVersion: "7" } }],
    ["no version", { items: [], metadata: {} }],
    ["items that are no list", { items: {}, metadata: { resourceVersion: "7" } }],
  ])("an answer with %s is no list", async (_, body) => {
    const { client, call } = answered(200, body);
    const error = await call(client.listPage(configMaps, { namespace: "default" }));
    expect(error).toBeInstanceOf(ClusterUnreachable);
    expect(error).toMatchObject({ message: `GET ${path}: the answer is not a list` });
  });

  test("a list of null is empty, and a token of nothing is none", async () => {
    const { client, call } = answered(200, { items: null, metadata: { resourceVersion: "7", continue: "" } });
    const page = client.listPage(configMaps);
    await call(page);
    expect(await page).toEqual({ items: [], resourceVersion: "7", continue: undefined });
  });

  test("nothing is written where the client may not write, and reads go on", async () => {
    const cluster = new MemoryCluster();
    const beforeSend = () => {
      throw new Error("not the leader");
    };
    const client = cluster.client({ beforeSend });
    const writes = [
      client.create(configMaps, configMap("default", "x")),
      client.patch(configMaps, ref, []),
      client.delete(configMaps, ref),
    ];
    for (const write of writes) expect(await errorOf(write)).toMatchObject({ message: "not the leader" });
    expect(await client.get(configMaps, ref)).toBeUndefined();
    expect(cluster.requests.map(({ method }) => method)).toEqual(["GET"]);
  });

  test("a read waits ten seconds at most before it is sent again", async () => {
    const cluster = new MemoryCluster();
    cluster.fate = () => ({ kind: "status", afterMs: 0, status: 429, retryAfterMs: 3_600_000 });
    const outcome = errorOf(cluster.client().get(configMaps, ref));
    await cluster.clock.advance(9999);
    expect(cluster.requests).toHaveLength(1);
    await cluster.clock.advance(1);
    expect(cluster.requests).toHaveLength(2);
    await cluster.clock.advance(20_000);
    expect(await outcome).toMatchObject({ status: 429 });
  });
});
