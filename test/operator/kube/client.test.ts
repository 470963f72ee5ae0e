import { describe, expect, test } from "vitest";
import {
  ClusterError,
  ClusterUnreachable,
  isAlreadyExists,
  isConflict,
  isNotFound,
} from "../../../src/operator/kube/errors.ts";
import { guardedPatch } from "../../../src/operator/kube/json-patch.ts";
import { pathOf } from "../../../src/operator/kube/objects.ts";
import { configMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";

const ref = { namespace: "default", name: "x" };

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("a read of a missing object gives undefined, and of an existing one the object", async () => {
  const client = new MemoryCluster().client();
  expect(await client.get(configMaps, ref)).toBeUndefined();
  const made = await client.create(configMaps, configMap("default", "x"));
  expect(await client.get(configMaps, ref)).toEqual(made);
});

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
  expect(isConflict(await errorOf(client.delete(configMaps, ref, { uid: "another" })))).toBe(true);
  await client.delete(configMaps, ref, { uid });
  await client.delete(configMaps, ref, { uid });
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
  test.each([
    [pathOf(computes), "/apis/compute-operator.dev/v1alpha1/computes"],
    [pathOf(computes, { namespace: "shop" }), "/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes"],
    [
      pathOf(computes, { namespace: "shop", name: "a", subresource: "status" }),
      "/apis/compute-operator.dev/v1alpha1/namespaces/shop/computes/a/status",
    ],
    [pathOf({ ...computes, namespaced: false }, { name: "a/b" }), "/apis/compute-operator.dev/v1alpha1/computes/a%2Fb"],
    [pathOf(configMaps, ref), "/api/v1/namespaces/default/configmaps/x"],
  ])("the path is %s", (path, expected) => {
    expect(path).toBe(expected);
  });

  test("the path of one object of a namespaced kind needs a namespace", () => {
    expect(() => pathOf(computes, { name: "a" })).toThrow("Compute a needs a namespace");
  });
});
