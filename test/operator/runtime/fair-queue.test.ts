import { describe, expect, test } from "vitest";
import { FairQueue } from "../../../src/operator/runtime/fair-queue.ts";
import { flowOf, setUp } from "./queue-runs.ts";

describe("lanes", () => {
  test("a tenant whose handlers hang takes its own share of the workers and no more", async () => {
    const { clock, queue, start, startsOf } = setUp({ flowOf, maxPerFlow: 2, workers: 4, takesMs: 60_000 });
    for (let n = 0; n < 50; n += 1) queue.add(`a${n}`);
    queue.add("b0");
    void start();
    await clock.advance(1);
    expect(startsOf("b0")).toEqual([0]);
    expect(startsOf("a1")).toEqual([0]);
    expect(startsOf("a2")).toEqual([]);
    expect(queue.depth).toBe(48);
  });

  test("are served in turn", async () => {
    const { clock, queue, start, runs } = setUp({ flowOf, workers: 1, takesMs: 10 });
    for (const key of ["a0", "a1", "a2", "b0", "b1", "c0"]) queue.add(key);
    void start();
    await clock.advance(1000);
    expect(runs.map((run) => run.key)).toEqual(["a0", "b0", "c0", "a1", "b1", "a2"]);
  });

  test("of one tenant get no more turns than another's one, however many they are", async () => {
    const { clock, queue, start, runs } = setUp({ flowOf: (key) => key.slice(0, 3), workers: 1, takesMs: 10 });
    for (const key of ["a/10", "a/11", "a/20", "a/30", "a/40", "b/10", "b/11", "b/12"]) queue.add(key);
    void start();
    await clock.advance(1000);
    expect(runs.map((run) => run.key)).toEqual(["a/10", "b/10", "a/20", "b/11", "a/30", "b/12", "a/40", "a/11"]);
  });

  test("of one tenant share a bound", async () => {
    const options = { flowOf: (key: string) => key.slice(0, 3), workers: 100, takesMs: 60_000 };
    const { clock, queue, start, runs } = setUp({ ...options, maxPerFlow: 2, maxPerTenant: 5 });
    for (let lane = 0; lane < 10; lane += 1) for (let n = 0; n < 3; n += 1) queue.add(`a/${lane}${n}`);
    for (let n = 0; n < 3; n += 1) queue.add(`b/0${n}`);
    void start();
    await clock.advance(1);
    expect(runs.filter(({ key }) => key.startsWith("a/"))).toHaveLength(5);
    expect(runs.filter(({ key }) => key.startsWith("b/"))).toHaveLength(2);
    await clock.advance(60_000);
    expect(runs.filter(({ key }) => key.startsWith("a/"))).toHaveLength(10);
    await clock.advance(240_000);
    expect(new Set(runs.map(({ key }) => key)).size).toBe(33);
  });

  test("are asked for at each add, so that a key may change its lane while it waits", async () => {
    let lane = "dead";
    const { clock, queue, start, startsOf } = setUp({
      flowOf: (key) => (key === "moving" ? lane : "dead"),
      maxPerFlow: 1,
      takesMs: 60_000,
    });
    queue.add("stuck");
    queue.add("moving");
    void start();
    await clock.advance(10);
    expect(startsOf("moving")).toEqual([]);
    lane = "alive";
    queue.add("moving");
    await clock.advance(10);
    expect(startsOf("moving")).toEqual([10]);
    // It has left the lane that it was in before, which is free by now.
    await clock.advance(100_000);
    expect(startsOf("moving")).toEqual([10]);
  });

  test("keep the place of a key that is asked for again", async () => {
    const { clock, queue, start, runs } = setUp({ flowOf, workers: 1, takesMs: 10 });
    for (const key of ["a0", "a1", "a0"]) queue.add(key);
    queue.addAfter("a1", 500);
    expect([queue.depth, clock.pending]).toEqual([2, 0]);
    void start();
    await clock.advance(1000);
    expect(runs.map((run) => run.key)).toEqual(["a0", "a1"]);
  });

  test("give out no key that was removed, and keep the others in their order", () => {
    const lanes = new FairQueue({ perFlow: 9, perTenant: 9 });
    for (const key of ["a0", "a1", "b0"]) lanes.put(key, flowOf(key), 0);
    for (const key of ["a0", "never put"]) lanes.remove(key);
    expect([lanes.size, lanes.has("a0")]).toEqual([2, false]);
    expect([lanes.next(), lanes.next(), lanes.next()].map((next) => next?.key)).toEqual(["a1", "b0", undefined]);
  });

  test("know which key has waited longest, in whatever lane", () => {
    const lanes = new FairQueue({ perFlow: 1, perTenant: 1 });
    expect(lanes.oldest()).toBeUndefined();
    for (const [key, since] of [
      ["a0", 5],
      ["b0", 3],
      ["b1", 4],
      ["c0", 9],
    ] as const)
      lanes.put(key, flowOf(key), since);
    expect(lanes.oldest()).toBe(3);
    lanes.put("b0", "d", 8);
    expect(lanes.oldest()).toBe(3);
  });
});

describe("handlers that only wait for somebody far away", () => {
  test("leave their workers to others, and keep their places in their lanes", async () => {
    const { clock, queue, start, startsOf } = setUp({ flowOf, maxPerFlow: 2, workers: 2, takesMs: 60_000 });
    for (const key of ["a0", "a1", "a2", "b0", "c0", "c1"]) queue.add(key);
    void start();
    await clock.advance(10);
    expect(startsOf("c0")).toEqual([]);
    queue.waits(2);
    await clock.advance(10);
    expect(["a0", "b0", "c0", "a1"].map(startsOf)).toEqual([[0], [0], [10], [10]]);
    queue.waits(1);
    await clock.advance(10);
    expect(["c1", "a2"].map(startsOf)).toEqual([[20], []]);
  });

  test("take their workers back when they go on: nothing new is begun before there is one to spare", async () => {
    const { clock, queue, start, startsOf } = setUp({ workers: 1, takesMs: 100 });
    for (const key of ["a", "b", "c"]) queue.add(key);
    void start();
    await clock.advance(10);
    queue.waits(1);
    await clock.advance(10);
    queue.waits(-1);
    await clock.advance(80);
    // "a" has ended, and "b" has the worker.
    expect([startsOf("a"), startsOf("b"), startsOf("c")]).toEqual([[0], [10], []]);
    await clock.advance(10);
    expect(startsOf("c")).toEqual([110]);
  });
});
