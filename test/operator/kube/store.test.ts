import { describe, expect, test } from "vitest";
import { isNewer, ObjectStore } from "../../../src/operator/kube/store.ts";
import type { KubeObject } from "../../../src/operator/objects/object.ts";

const late = { created: false, seenUpTo: "1000" };

function object(version: number | string, more: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return { metadata: { name: "a", namespace: "default", uid: "one", resourceVersion: String(version), ...more } };
}

/** A store after a list of version 100, without the changes of that list. */
function listed(...objects: KubeObject[]): ObjectStore<KubeObject> {
  const store = new ObjectStore<KubeObject>();
  store.beginList();
  taken(store.replace(objects, [], "100"));
  return store;
}

/** What a list changes, taken in step by step. */
function taken<T>(steps: readonly (() => T[])[]): T[] {
  return steps.flatMap((step) => step());
}

function types(changes: readonly { type: string; object: KubeObject }[]): string[] {
  return changes.map(({ type, object: { metadata } }) => `${type} ${metadata.uid} ${metadata.resourceVersion}`);
}

function versions(store: ObjectStore<KubeObject>): string[] {
  return store.list().map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`);
}

const terminating = { deletionTimestamp: "2026-01-01T00:00:00Z" };

describe("an answer to a write", () => {
  test("enters the store, and the events that it overtook change nothing", () => {
    const store = listed(object(50));
    expect(types(store.answered(object(120), late))).toEqual(["updated one 120"]);
    expect(store.upsert(object(110))).toEqual([]);
    expect(store.upsert(object(120))).toEqual([]);
    expect(types(store.upsert(object(130)))).toEqual(["updated one 130"]);
  });

  test("an answer that comes after newer events changes nothing", () => {
    const store = listed(object(50));
    store.upsert(object(130));
    expect(store.answered(object(120), late)).toEqual([]);
    expect(versions(store)).toEqual(["one 130"]);
  });

  test("an answer of a uid that is deleted never brings it back", () => {
    const store = listed(object(50));
    store.remove(object(130));
    expect(store.answered(object(120), late)).toEqual([]);
    expect(store.answered(object(120), { created: true, seenUpTo: "130" })).toEqual([]);
    expect(store.list()).toEqual([]);
  });

  test("an answer that shows the last finalizer gone removes the object, whatever the watch still reports about it", () => {
    const store = listed(object(50, { ...terminating, finalizers: ["one"] }));
    expect(types(store.answered(object(50, terminating), late))).toEqual(["deleted one 50"]);
    expect(store.upsert(object(90, { ...terminating, finalizers: ["one"] }))).toEqual([]);
    expect(store.answered(object(120), { created: true, seenUpTo: "100" })).toEqual([]);
    expect(store.remove(object(130))).toEqual([]);
    expect(store.list()).toEqual([]);
  });

  test("an answer that shows another finalizer on the object is a change of it", () => {
    const store = listed(object(50, { ...terminating, finalizers: ["one", "two"] }));
    const left = { ...terminating, finalizers: ["two"] };
    expect(types(store.answered(object(120, left), late))).toEqual(["updated one 120"]);
  });

  test("an answer to a create enters where the watch has not come so far, in place of a former object of that name", () => {
    const store = listed(object(50));
    const made = object(120, { uid: "two" });
    expect(store.answered(made, { created: true, seenUpTo: "120" })).toEqual([]);
    expect(types(store.answered(made, { created: true, seenUpTo: "119" }))).toEqual([
      "deleted one 50",
      "added two 120",
    ]);
    expect(store.upsert(object(110))).toEqual([]);
    expect(store.remove(object(115))).toEqual([]);
    expect(versions(store)).toEqual(["two 120"]);
  });

  test("an answer of unknown order is left to the watch, whose events all count", () => {
    const store = listed(object("x50"));
    expect(store.answered(object("x120"), late)).toEqual([]);
    expect(types(store.upsert(object("x40")))).toEqual(["updated one x40"]);
  });
});

describe("a list", () => {
  test("a list is older than an answer that came while it was on its way", () => {
    const store = listed(object(50), object(60, { name: "b", uid: "two" }));
    store.beginList();
    store.answered(object(120), late);
    store.answered(object(125, { name: "c", uid: "three" }), { created: true, seenUpTo: undefined });
    expect(types(taken(store.replace([object(50), object(105, { name: "b", uid: "two" })], [], "110")))).toEqual([
      "updated two 105",
    ]);
    expect(versions(store)).toEqual(["one 120", "two 105", "three 125"]);
  });

  test("does not bring back what an answer showed to be gone while it was on its way", () => {
    const held = object(50, { ...terminating, finalizers: ["one"] });
    const store = listed(held);
    store.beginList();
    store.answered(object(50, terminating), late);
    expect(taken(store.replace([held], [], "110"))).toEqual([]);
    expect(store.upsert(object(90, { ...terminating, finalizers: ["one"] }))).toEqual([]);
  });

  test("a list that began after an answer counts even if its version is older, as after etcd was restored", () => {
    const store = listed(object(50), object(60, { ...terminating, name: "b", uid: "two", finalizers: ["one"] }));
    store.answered(object(120), late);
    store.answered(object(60, { ...terminating, name: "b", uid: "two" }), late);
    store.beginList();
    const restored = [object(40), object(45, { name: "b", uid: "two" })];
    expect(types(taken(store.replace(restored, [], "70")))).toEqual(["updated one 40", "added two 45"]);
    expect(types(store.upsert(object(71, { name: "b", uid: "two" })))).toEqual(["updated two 71"]);
  });

  test("a list is taken in 250 objects at a time, and what answers bring in between stays", () => {
    const one = (n: number, version: number) => object(version, { name: `n-${n}`, uid: `u-${n}` });
    const many = (version: number, from = 0) => Array.from({ length: 600 - from }, (_, n) => one(n + from, version));
    const store = listed(...many(50), one(600, 50), one(601, 50));
    store.beginList();
    const steps = store.replace(many(105), [], "110");
    const sizes: number[] = [];
    for (const step of steps) {
      sizes.push(step().length);
      if (sizes.length > 1) continue;
      store.answered(one(599, 120), late);
      store.answered(one(700, 125), { created: true, seenUpTo: "110" });
      store.answered({ ...one(598, 121), metadata: { ...one(598, 121).metadata, ...terminating } }, late);
    }
    expect(sizes).toEqual([2, 250, 250, 98]);
    expect(store.byUid("u-599")?.metadata.resourceVersion).toBe("120");
    expect([store.byUid("u-700") === undefined, store.byUid("u-598")]).toEqual([false, undefined]);
    expect(store.list()).toHaveLength(600);
  });

  test("leaves what it cannot read as it was", () => {
    const store = listed(object(50));
    store.beginList();
    expect(taken(store.replace([], ["one"], "110"))).toEqual([]);
    expect(versions(store)).toEqual(["one 50"]);
  });
});

test.each([
  ["10", "9", true],
  ["9", "10", false],
  ["11", "10", true],
  ["10", "10", false],
  ["18446744073709551616", "18446744073709551615", true],
  ["x", "x", false],
  ["010", "9", undefined],
  ["0", "9", undefined],
  ["10", "", undefined],
])("version %s is newer than %s: %s", (version, than, newer) => {
  expect(isNewer(version, than)).toBe(newer);
});
