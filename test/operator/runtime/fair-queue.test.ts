import { describe, expect, test } from "vitest";
import { FairQueue } from "../../../src/operator/runtime/fair-queue.ts";
import { flowOf, setUp } from "./queue-runs.ts";

describe("flows", () => {
  test("a tenant whose handlers hang occupies no more than its share of the workers", async () => {
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

  test("the flows of one tenant together get no more turns than the single flow of another", async () => {
    const { clock, queue, start, runs } = setUp({ flowOf: (key) => key.slice(0, 3), workers: 1, takesMs: 10 });
    for (const key of ["a/10", "a/11", "a/20", "a/30", "a/40", "b/10", "b/11", "b/12"]) queue.add(key);
    void start();
    await clock.advance(1000);
    expect(runs.map((run) => run.key)).toEqual(["a/10", "b/10", "a/20", "b/11", "a/30", "b/12", "a/40", "a/11"]);
  });

  test("the flows of one tenant share a bound", async () => {
    const options = { flowOf: (key: string) => key.slice(0, 3), workers: 100, takesMs: 60_000 };
    const { clock, queue, start, runs } = setUp({ ...options, maxPerFlow: 2, maxPerTenant: 5 });
    for (let flow = 0; flow < 10; flow += 1) for (let n = 0; n < 3; n += 1) queue.add(`a/${flow}${n}`);
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

  test("the hanging flows of one tenant leave each place that falls free to the flow with the fewest running keys", () => {
    const queue = new FairQueue<number>({ perFlow: 3, perTenant: 4 });
    for (let n = 0; n < 3; n += 1) for (const flow of ["dead", "slow"]) queue.put(`${flow}-${n}`, `a/${flow}`, 0);
    const running = Array.from({ length: 4 }, () => queue.next());
    expect(running.map((one) => one?.key)).toEqual(["dead-0", "slow-0", "dead-1", "slow-1"]);
    expect([queue.hasRoom("a/live"), queue.hasRoom("b/live")]).toEqual([false, true]);
    for (let n = 0; n < 3; n += 1) queue.put(`live-${n}`, "a/live", 0);
    running[0]?.release();
    expect(queue.hasRoom("a/live")).toBe(true);
    for (const key of ["live-0", "live-1", "live-2", "dead-2"]) {
      const next = queue.next();
      expect([next?.key, queue.next()]).toEqual([key, undefined]);
      next?.release();
    }
  });

  test("flows that had no room come after those that began to wait meanwhile, and so do their tenants", () => {
    const queue = new FairQueue<number>({ perFlow: 1, perTenant: 1 });
    for (const key of ["a/x1", "a/x2"]) queue.put(key, key.slice(0, 3), 0);
    const first = queue.next();
    for (const key of ["a/y1", "b/z1"]) queue.put(key, key.slice(0, 3), 0);
    first?.release();
    const keys = ["", "", ""].map(() => {
      const next = queue.next();
      next?.release();
      return next?.key;
    });
    expect(keys).toEqual(["b/z1", "a/y1", "a/x2"]);
  });

  test("the flow of a key is determined at each add, so a key may change it while it waits", async () => {
    let flow = "dead";
    const { clock, queue, start, startsOf } = setUp({
      flowOf: (key) => (key === "moving" ? flow : "dead"),
      maxPerFlow: 1,
      takesMs: 60_000,
    });
    queue.add("stuck");
    queue.add("moving");
    void start();
    await clock.advance(10);
    expect(startsOf("moving")).toEqual([]);
    flow = "alive";
    queue.add("moving");
    await clock.advance(10);
    expect(startsOf("moving")).toEqual([10]);
    // It has left its previous flow, which has room by now.
    await clock.advance(100_000);
    expect(startsOf("moving")).toEqual([10]);
  });

  test("keep the place of a key that is added again", async () => {
    const { clock, queue, start, runs } = setUp({ flowOf, workers: 1, takesMs: 10 });
    for (const key of ["a0", "a1", "a0"]) queue.add(key);
    queue.addAfter("a1", 500);
    expect([queue.depth, clock.pending]).toEqual([2, 0]);
    void start();
    await clock.advance(1000);
    expect(runs.map((run) => run.key)).toEqual(["a0", "a1"]);
  });

  test("give out no key that was removed, and keep the others in their order", () => {
    const flows = new FairQueue<number>({ perFlow: 9, perTenant: 9 });
    for (const key of ["a0", "a1", "b0"]) flows.put(key, flowOf(key), 0);
    for (const key of ["a0", "never put"]) flows.remove(key);
    expect([flows.size, flows.has("a0")]).toEqual([2, false]);
    expect([flows.next(), flows.next(), flows.next()].map((next) => next?.key)).toEqual(["a1", "b0", undefined]);
  });

  test("count the longest wait of all keys, also of one that has moved", async () => {
    let flow = "b";
    const { clock, queue } = setUp({ flowOf: (key) => (key === "moves" ? flow : "a") });
    expect(queue.progress().oldestWaitMs).toBe(0);
    queue.add("moves");
    await clock.advance(3);
    for (const key of ["a0", "a1"]) queue.add(key);
    flow = "c";
    queue.add("moves");
    await clock.advance(4);
    expect(queue.progress().oldestWaitMs).toBe(7);
  });
});

describe("handlers that only wait for a server", () => {
  test("leave their workers to other keys and keep their places in their flows", async () => {
    const { clock, queue, start, startsOf } = setUp({ flowOf, maxPerFlow: 2, workers: 2, takesMs: 60_000 });
    for (const key of ["a0", "a1", "a2", "b0", "c0", "c1"]) queue.add(key);
    void start();
    await clock.advance(10);
    expect(startsOf("c0")).toEqual([]);
    queue.changeBlockedWorkers(2);
    await clock.advance(10);
    expect(["a0", "b0", "c0", "a1"].map(startsOf)).toEqual([[0], [0], [10], [10]]);
    queue.changeBlockedWorkers(1);
    await clock.advance(10);
    expect(["c1", "a2"].map(startsOf)).toEqual([[20], []]);
  });

  test("take their workers back when they continue: no key starts before a worker is free", async () => {
    const { clock, queue, start, startsOf } = setUp({ workers: 1, takesMs: 100 });
    for (const key of ["a", "b", "c"]) queue.add(key);
    void start();
    await clock.advance(10);
    queue.changeBlockedWorkers(1);
    await clock.advance(10);
    queue.changeBlockedWorkers(-1);
    await clock.advance(80);
    // "a" has ended, and "b" has the worker.
    expect([startsOf("a"), startsOf("b"), startsOf("c")]).toEqual([[0], [10], []]);
    await clock.advance(10);
    expect(startsOf("c")).toEqual([110]);
  });
});
