import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, test } from "vitest";
import { isAlreadyExists, isConflict, isNotFound, isStale, isTestFailed } from "../../../src/operator/kube/errors.ts";
import { EventRecorder } from "../../../src/operator/kube/events.ts";
import { guardedPatch } from "../../../src/operator/kube/json-patch.ts";
import { createNamespace, kubeconfig, kubectl } from "../../control-plane/shared-control-plane.ts";
import { realClock } from "../../support/real-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { configMap, configMaps } from "./config-maps.ts";
import { realClient } from "./real-client.ts";

const finalizer = "compute-operator.dev/endpoint";

/** An object in a namespace of its own on the real API server. */
async function stored(metadata: { annotations?: Record<string, string>; finalizers?: string[] } = {}) {
  const real = realClient(kubeconfig());
  const namespace = await createNamespace("guards");
  const object = await real.client.create(configMaps, configMap(namespace, "x", metadata));
  const ref = { namespace, name: "x" };
  const send = (patch: ReturnType<typeof guardedPatch>) => real.client.patch(configMaps, ref, patch.ops());
  return { ...real, client: real.client, object, ref, send, [Symbol.asyncDispose]: () => real.transport.close() };
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("the real API server", () => {
  test("refuses a patch whose uid is another's, as stale and not as invalid", async () => {
    await using world = await stored();
    const { client, object, ref, send } = world;
    await client.delete(configMaps, ref);
    await client.create(configMaps, configMap(ref.namespace, "x"));
    const error = await errorOf(send(guardedPatch(object).addFinalizer(finalizer)));
    expect(error).toMatchObject({ status: 422, reason: "Invalid" });
    expect([isTestFailed(error), isStale(error)]).toEqual([true, true]);
  });

  test("refuses a patch from before somebody else's write where the version is guarded", async () => {
    await using world = await stored();
    const { object, send } = world;
    await send(guardedPatch(object).setAnnotation("theirs", "1"));
    expect(isTestFailed(await errorOf(send(guardedPatch(object).setAnnotation("ours", "1"))))).toBe(true);
  });

  test("refuses what is invalid in a way that is not taken for stale", async () => {
    await using world = await stored();
    const error = await errorOf(world.send(guardedPatch(world.object).addFinalizer("no-domain")));
    expect(error).toMatchObject({ status: 422, reason: "Invalid", details: { subject: "x" } });
    expect(isStale(error)).toBe(false);
  });

  test("carries out a patch that makes what is missing and takes away what is ours", async () => {
    await using world = await stored({ finalizers: ["other.dev/one"] });
    const { object, send, client, ref } = world;
    const key = "compute-operator.dev/endpoint-id";
    const patched = await send(guardedPatch(object).addFinalizer(finalizer).setAnnotation(key, "ep-1"));
    expect(patched.metadata).toMatchObject({
      finalizers: ["other.dev/one", finalizer],
      annotations: { [key]: "ep-1" },
    });
    const left = await send(guardedPatch(patched).removeFinalizer("other.dev/one").removeAnnotation(key));
    expect(left.metadata.finalizers).toEqual([finalizer]);
    await client.delete(configMaps, ref);
    expect(await send(guardedPatch(left).removeFinalizer(finalizer))).toBeDefined();
    expect(await client.get(configMaps, ref)).toBeUndefined();
  });

  test("removes no version to which a finalizer is added while it is deleted", async () => {
    await using world = await stored();
    const { client, ref } = world;
    // With the uid alone, more than one in six of these objects are gone though the patch was accepted.
    for (let index = 0; index < 40; index += 1) {
      const { metadata } = await client.create(configMaps, configMap(ref.namespace, `race-${index}`));
      const patch = guardedPatch({ metadata }, { resourceVersion: true }).addFinalizer(finalizer);
      const [held] = await Promise.all([
        client.patch(configMaps, metadata, patch.ops()).catch(() => undefined),
        client.delete(configMaps, metadata).catch(() => undefined),
      ]);
      expect((await client.get(configMaps, metadata))?.metadata.uid).toBe(held?.metadata.uid);
    }
  });

  test("names what is not found, taken, or no longer the same", async () => {
    await using world = await stored();
    const { client, ref, object } = world;
    const missing = { ...ref, name: "missing" };
    expect(await client.get(configMaps, missing)).toBeUndefined();
    expect(isNotFound(await errorOf(client.patch(configMaps, missing, guardedPatch(object).ops())))).toBe(true);
    await client.delete(configMaps, missing);
    expect(isAlreadyExists(await errorOf(client.create(configMaps, configMap(ref.namespace, "x"))))).toBe(true);
    expect(isConflict(await errorOf(client.delete(configMaps, { ...ref, uid: "another" })))).toBe(true);
    await client.delete(configMaps, object.metadata);
  });
});

describe("events", () => {
  test("show in kubectl describe, repeated ones with their count", async () => {
    await using world = await stored();
    const { client, object, ref } = world;
    const recorder = new EventRecorder({
      client,
      clock: realClock,
      random: Math.random,
      log: silentLogger,
      component: "compute-operator",
    });
    recorder.record(object, { type: "Normal", reason: "Created", message: "Created endpoint ep-1" });
    recorder.record(object, { type: "Warning", reason: "Rejected", message: "The service refused the size" });
    await recorder.drain(new AbortController().signal);
    recorder.record(object, { type: "Warning", reason: "Rejected", message: "The service refused the size" });
    await recorder.drain(new AbortController().signal);
    const described = await kubectl(["describe", "configmap", "x", "-n", ref.namespace]);
    expect(described).toMatch(/Normal\s+Created\s+\S+\s+compute-operator\s+Created endpoint ep-1/);
    expect(described).toMatch(
      /Warning\s+Rejected\s+\S+ \(x2 over \S+\)\s+compute-operator\s+The service refused the size/,
    );
  });
});

test("three hundred requests to it share a handful of TLS connections", async () => {
  await using real = realClient(kubeconfig(), { timeoutMs: 60_000 });
  let connections = 0;
  const connected = () => {
    connections += 1;
  };
  subscribe("undici:client:connected", connected);
  await Promise.all(
    Array.from({ length: 300 }, () => real.client.get(configMaps, { namespace: "default", name: "kube-root-ca.crt" })),
  );
  unsubscribe("undici:client:connected", connected);
  expect(connections).toBeGreaterThan(0);
  expect(connections).toBeLessThanOrEqual(16);
});
