import { expect, test, vi } from "vitest";
import type { KubeObject } from "../../../src/operator/objects/object.ts";
import { compute, uidOf } from "../../support/builders.ts";
import { branch } from "../branch/builders.ts";
import { HandlersStage } from "./event-handlers-stage.ts";

const many = 1200;

function declared(index: number, branchID: string, resourceVersion = "1") {
  const object = compute({ name: `compute-${index}`, uid: uidOf(index), spec: { branchID } });
  return { ...object, metadata: { ...object.metadata, resourceVersion } };
}

test("a new leader indexes a large fleet in several tasks, and keeps what changes in between", async () => {
  const computes = Array.from({ length: many }, (_, index) => declared(index, `br-${index}`));
  await using stage = await HandlersStage.with({ computes });
  const { informers, claims } = stage;
  const enqueued = new Set<string>();
  let pauses = 0;
  const handlers = stage.handlers({
    enqueue: (_, uids) => [...uids].forEach((uid) => enqueued.add(uid)),
    pause: async () => {
      pauses += 1;
      // One that is indexed already, and one that is still to come.
      if (pauses > 1) return;
      for (const index of [0, 900]) informers.computes.answered(declared(index, `moved-${index}`, "2"), false);
    },
  });
  informers.subscribe(handlers);
  await handlers.everything(stage.signal);
  expect(pauses).toBe(2);
  expect(enqueued.size).toBe(many);
  const claimants = claims.claimantsOf(informers.computes.byUid(uidOf(1)) ?? declared(1, "br-1"));
  const on = (id: string) => claimants.onBranch(id).map(({ metadata }) => metadata.uid);
  expect([on("br-0"), on("moved-0"), on("br-900"), on("moved-900"), on("br-7")]).toEqual([
    [],
    [uidOf(0)],
    [],
    [uidOf(900)],
    [uidOf(7)],
  ]);
  enqueued.clear();
  handlers.computesRelisted();
  // The rest follows after a pause.
  expect(enqueued.size).toBe(499);
  await stage.clock.advance(0);
  expect(enqueued.size).toBe(many);
  expect(pauses).toBe(4);
});

test("a Compute that came from another shard before this process led is no new one to it", async () => {
  const of = (shard: string, version: string) => {
    const object = declared(1, "br-1", version);
    return { ...object, metadata: { ...object.metadata, labels: { shard } } };
  };
  await using stage = await HandlersStage.with({ computes: [of("b", "1"), declared(2, "br-2")] });
  stage.informers.computes.answered(of("a", "2"), false);
  const arrivedAt = stage.clock.monotonic();
  await stage.clock.advance(1000);
  const arrivals: unknown[] = [];
  const ignore = () => {};
  const handlers = stage.handlers({
    computes: {
      gone: ignore,
      changed: ignore,
      entered: (...one) => arrivals.push(one),
      relisted: ignore,
      passwordChanged: ignore,
    },
  });
  await handlers.everything(stage.signal);
  expect(arrivals).toEqual([[uidOf(1), arrivedAt]]);
});

test("a Compute that is gone leaves nothing in memory of the spec that was stored for it", async () => {
  const computes = [declared(0, "br-0")];
  await using stage = await HandlersStage.with({ computes });
  const forgotten: string[] = [];
  const handlers = stage.handlers({ storedSpecs: { forget: ({ metadata }) => forgotten.push(metadata.uid) } });
  handlers.compute({ type: "updated", object: declared(0, "br-1", "2"), previous: declared(0, "br-0") });
  expect(forgotten).toEqual([]);
  handlers.compute({ type: "deleted", object: declared(0, "br-1", "2"), previous: declared(0, "br-1", "2") });
  expect(forgotten).toEqual([uidOf(0)]);
});

test("an event of a Compute or a Branch among thousands looks at those alone that it concerns", async () => {
  const pair = (index: number) => {
    const name = `pr-${index}`;
    return {
      branch: branch({ name, uid: uidOf(10_000 + index), linked: `br-${index}` }),
      compute: compute({ name, uid: uidOf(index), spec: { branchID: undefined, branchRef: { name } } }),
    };
  };
  const pairs = Array.from({ length: many }, (_, index) => pair(index));
  await using stage = await HandlersStage.with({
    computes: pairs.map((each) => each.compute),
    branches: pairs.map((each) => each.branch),
  });
  const { informers } = stage;
  const enqueued: string[] = [];
  const handlers = stage.handlers({ enqueue: (_, uids) => enqueued.push(...uids) });
  const whole = [informers.computes, informers.branches].flatMap((kind) => [
    vi.spyOn(kind, "list"),
    vi.spyOn(kind, "within"),
  ]);
  const [, second] = pairs;
  if (second === undefined) throw new Error("there are none");
  const next = <T extends KubeObject>(object: T, status: object) => ({
    ...object,
    metadata: { ...object.metadata, generation: 2, resourceVersion: "2" },
    status,
  });
  handlers.compute({ type: "updated", object: next(second.compute, { branchID: "br-1" }), previous: second.compute });
  handlers.branch({ type: "updated", object: next(second.branch, {}), previous: second.branch });
  expect(new Set(enqueued)).toEqual(new Set([uidOf(1), uidOf(10_001)]));
  expect(whole.map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0, 0]);
});
