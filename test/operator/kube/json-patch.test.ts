import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isStale } from "../../../src/operator/kube/errors.ts";
import { guardedPatch, pointer } from "../../../src/operator/kube/json-patch.ts";
import type { ObjectMeta } from "../../../src/operator/kube/objects.ts";
import { type ConfigMap, configMap, configMaps } from "./config-maps.ts";
import { MemoryCluster } from "./memory-cluster.ts";

const ref = { namespace: "default", name: "x" };
const finalizer = "compute-operator.dev/endpoint";

async function stored(metadata: Partial<ObjectMeta> = {}) {
  const cluster = new MemoryCluster();
  const client = cluster.client();
  const object = await client.create(configMaps, configMap("default", "x", metadata));
  const send = (patch: ReturnType<typeof guardedPatch>) => client.patch(configMaps, ref, patch.ops());
  const read = async (): Promise<ConfigMap> => {
    const now = await client.get(configMaps, ref);
    if (now === undefined) throw new Error("it is gone");
    return now;
  };
  return { cluster, client, object, send, read };
}

async function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "carried out",
    (error: unknown) => (isStale(error) ? "stale" : error),
  );
}

test("a patch begins with the uid, and with the version where that is asked for", async () => {
  const { object } = await stored();
  const { uid, resourceVersion } = object.metadata;
  expect(guardedPatch(object).setStatus({}).ops()).toEqual([
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "add", path: "/status", value: {} },
  ]);
  expect(guardedPatch(object, { resourceVersion: true }).setStatus({}).ops()[1]).toEqual({
    op: "test",
    path: "/metadata/resourceVersion",
    value: resourceVersion,
  });
});

test("a patch of an object deleted and made again under the same name is refused as stale", async () => {
  const { client, object, send } = await stored();
  await client.delete(configMaps, ref);
  await client.create(configMaps, configMap("default", "x"));
  expect(await refusal(send(guardedPatch(object).addFinalizer(finalizer)))).toBe("stale");
});

test("a patch that would change nothing says so", async () => {
  const { object } = await stored({ finalizers: [finalizer], annotations: { a: "1" } });
  const patch = guardedPatch(object).addFinalizer(finalizer).setAnnotation("a", "1");
  expect(patch.removeAnnotation("b").removeFinalizer("other/one").isEmpty).toBe(true);
  expect(patch.setAnnotation("a", "2").isEmpty).toBe(false);
});

test("a patch does all at once to an object that has neither annotations nor finalizers", async () => {
  const { object, send } = await stored();
  const patch = guardedPatch(object)
    .setAnnotation("compute-operator.dev/endpoint-id", "ep-1")
    .setAnnotation("b", "~tilde/slash")
    .addFinalizer(finalizer)
    .addFinalizer("another/one");
  expect((await send(patch)).metadata).toMatchObject({
    annotations: { "compute-operator.dev/endpoint-id": "ep-1", b: "~tilde/slash" },
    finalizers: [finalizer, "another/one"],
  });
});

test("a patch never wipes out annotations or finalizers that somebody set since", async () => {
  const { object, send, read } = await stored();
  await send(guardedPatch(object).setAnnotation("theirs", "1"));
  expect(await refusal(send(guardedPatch(object).setAnnotation("ours", "1")))).toBe("stale");
  expect(await refusal(send(guardedPatch(object).addFinalizer(finalizer)))).toBe("stale");
  expect((await read()).metadata.annotations).toEqual({ theirs: "1" });
});

test("a patch takes away our finalizer and no other, wherever it stands, and not where it has moved", async () => {
  const { object, send } = await stored({ finalizers: ["first/one", finalizer, "last/one"] });
  const moved = await send(guardedPatch(object).removeFinalizer("first/one"));
  expect(await refusal(send(guardedPatch(object).removeFinalizer(finalizer)))).toBe("stale");
  const left = await send(guardedPatch(moved).removeFinalizer(finalizer));
  expect(left.metadata.finalizers).toEqual(["last/one"]);
});

test("a patch takes an annotation away, or overwrites it, only while it has the value seen", async () => {
  const { object, send, read } = await stored({ annotations: { mark: "old" } });
  await send(guardedPatch(object).setAnnotation("mark", "new"));
  expect(await refusal(send(guardedPatch(object).setAnnotation("mark", "other")))).toBe("stale");
  expect(await refusal(send(guardedPatch(object).removeAnnotation("mark")))).toBe("stale");
  expect((await read()).metadata.annotations).toEqual({ mark: "new" });
  await send(guardedPatch(await read()).removeAnnotation("mark"));
  expect((await read()).metadata.annotations ?? {}).toEqual({});
});

test("a pointer escapes what RFC 6901 wants escaped", () => {
  expect(pointer("metadata", "annotations", "a~1/b~")).toBe("/metadata/annotations/a~01~1b~0");
});

type Step = (patch: ReturnType<typeof guardedPatch>, expected: OperationalError) => void;
interface OperationalError {
  annotations: Map<string, string>;
  finalizers: string[];
}

const anyKey = fc.constantFrom("a", "b.c/d", "e~f");
const anyFinalizer = fc.constantFrom("x/one", "x/two", "x/three");
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(anyKey, fc.string()).map(
    ([key, value]): Step =>
      (patch, expected) => {
        patch.setAnnotation(key, value);
        expected.annotations.set(key, value);
      },
  ),
  anyKey.map(
    (key): Step =>
      (patch, expected) => {
        patch.removeAnnotation(key);
        expected.annotations.delete(key);
      },
  ),
  anyFinalizer.map(
    (name): Step =>
      (patch, expected) => {
        patch.addFinalizer(name);
        if (!expected.finalizers.includes(name)) expected.finalizers.push(name);
      },
  ),
  anyFinalizer.map(
    (name): Step =>
      (patch, expected) => {
        patch.removeFinalizer(name);
        expected.finalizers = expected.finalizers.filter((other) => other !== name);
      },
  ),
);

test("any steps in any order on any object leave what they say", async () => {
  const anyMap = fc.option(fc.dictionary(anyKey, fc.string()), { nil: undefined });
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        annotations: anyMap,
        finalizers: fc.option(fc.uniqueArray(anyFinalizer, { minLength: 1 }), { nil: undefined }),
      }),
      fc.array(anyStep, { maxLength: 12 }),
      async (metadata, steps) => {
        const { object, send } = await stored(metadata);
        const patch = guardedPatch(object);
        const expected: OperationalError = {
          annotations: new Map(Object.entries(metadata.annotations ?? {})),
          finalizers: [...(metadata.finalizers ?? [])],
        };
        for (const step of steps) step(patch, expected);
        const { annotations = {}, finalizers = [] } = (await send(patch)).metadata;
        expect(annotations).toEqual(Object.fromEntries(expected.annotations));
        expect(finalizers).toEqual(expected.finalizers);
      },
    ),
  );
});
