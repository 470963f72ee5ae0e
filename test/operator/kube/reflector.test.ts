import { describe, expect, test } from "vitest";
import { isObjectOf } from "../../../src/operator/kube/objects.ts";
import { configMaps } from "./config-maps.ts";
import { minute, setUp } from "./reflector-world.ts";

test("the first list reports what exists, then each change as it happens", async () => {
  const { clock, outside, reflector, changes, run } = setUp();
  const first = outside.create("a");
  void run();
  await clock.advance(10);
  outside.create("b");
  outside.change("a", { x: "1" });
  outside.delete("b");
  await clock.advance(10);
  expect(changes).toEqual(["added a", "added b", "updated a", "deleted b"]);
  expect(reflector.store.get("default", "a")?.data).toEqual({ x: "1" });
  expect(reflector.store.byUid(first.metadata.uid)?.data).toEqual({ x: "1" });
  expect(reflector.store.get("default", "b")).toBeUndefined();
});

test("the first list fills in the kind, which the API server leaves out of lists", async () => {
  const { outside, started } = setUp();
  outside.create("a");
  const reflector = await started();
  expect(reflector.store.get("default", "a")).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
});

test("the first list is read in pages, and counts only when the last of them is in", async () => {
  const { cluster, clock, outside, reflector, run, changes } = setUp({ pageSize: 2 });
  for (const name of ["a", "b", "c", "d", "e"]) outside.create(name);
  cluster.fate = ({ query }) => (query?.continue === undefined ? undefined : { kind: "refused", afterMs: 0 });
  void run();
  await clock.advance(minute);
  expect(reflector.isServed()).toBe(false);
  expect(reflector.store.list()).toEqual([]);
  expect(changes).toEqual([]);
  cluster.fate = () => undefined;
  await clock.advance(minute);
  expect(reflector.isServed()).toBe(true);
  expect(changes).toEqual(["added a", "added b", "added c", "added d", "added e"]);
  expect(new Set(cluster.lists().map(({ query }) => query?.limit))).toEqual(new Set(["2"]));
});

test("a first list of many objects is reported in several tasks, and counts only after the last", async () => {
  const { clock, outside, reflector, run, changes } = setUp();
  for (let n = 0; n < 600; n += 1) outside.create(`n-${n}`);
  void run();
  const synced: number[] = [];
  void reflector.whenSynced(new AbortController().signal).finally(() => synced.push(changes.length));
  const perTask: number[] = [];
  for (let tasks = 0; tasks < 2000 && synced.length === 0; tasks += 1) {
    const before = changes.length;
    await clock.runNext(minute);
    if (changes.length > before) perTask.push(changes.length - before);
  }
  expect(synced).toEqual([600]);
  expect(perTask).toEqual([250, 250, 100]);
});

test("the first list lets others have their turn while it is read", async () => {
  const read: unknown[] = [];
  const parse = (raw: unknown) => {
    read.push(raw);
    return isObjectOf(configMaps, raw) ? raw : undefined;
  };
  const { clock, outside, run } = setUp({ parse });
  for (let n = 0; n < 50; n += 1) outside.create(`n-${n}`);
  void run();
  for (let tasks = 0; tasks < 2000 && read.length === 0; tasks += 1) await clock.runNext(minute);
  expect(read).toHaveLength(19);
  await clock.advance(minute);
  expect(read).toHaveLength(50);
});

test("the first list starts over where its history is forgotten between two pages", async () => {
  const { cluster, clock, outside, run, names } = setUp({ pageSize: 2 });
  for (const name of ["a", "b", "c"]) outside.create(name);
  let forgotten = false;
  cluster.fate = ({ query }) => {
    if (query?.continue !== undefined && !forgotten) {
      forgotten = true;
      outside.delete("b");
      cluster.server.store.compact();
    }
    return undefined;
  };
  void run();
  await clock.advance(minute);
  expect(names()).toEqual(["a", "c"]);
  expect(forgotten).toBe(true);
});

test("the first list is waited for by whenSynced, which ends with its signal", async () => {
  const { cluster, clock, reflector, run } = setUp();
  cluster.fate = () => ({ kind: "refused", afterMs: 0 });
  void run();
  const impatient = new AbortController();
  const [waiting, patient] = [
    reflector.whenSynced(impatient.signal),
    reflector.whenSynced(new AbortController().signal),
  ];
  await clock.advance(minute);
  impatient.abort(new Error("shutting down"));
  await expect(waiting).rejects.toThrow("shutting down");
  cluster.fate = () => undefined;
  await clock.advance(minute);
  await patient;
});

describe("in a quiet cluster", () => {
  test("an hour costs a watch every five to ten minutes, and one list at its end", async () => {
    const { cluster, clock, reflector, relists, started } = setUp();
    await started();
    await clock.advance(59 * minute);
    expect(cluster.lists()).toHaveLength(1);
    expect(cluster.watches.length).toBeGreaterThanOrEqual(6);
    expect(cluster.watches.length).toBeLessThanOrEqual(12);
    expect(reflector.lastEventAgeMs()).toBeLessThanOrEqual(minute);
    await clock.advance(20 * minute);
    expect(relists).toEqual(["start", "periodic"]);
  });
});
