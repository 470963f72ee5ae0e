import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WorkQueue } from "../../../src/operator/runtime/workqueue.ts";
import { flowOf, setUp, startTimes } from "./queue-runs.ts";

test("a key added several times before a worker is free is handled once", async () => {
  const { clock, queue, start, startsOf } = setUp();
  queue.add("a");
  queue.add("a");
  void start();
  queue.add("a");
  await clock.settle();
  expect(startsOf("a")).toEqual([0]);
});

test("a key added while it is handled is handled once more afterwards, never at the same time", async () => {
  const { clock, queue, start, runs } = setUp({ takesMs: 50 });
  void start();
  queue.add("a");
  await clock.advance(10);
  queue.add("a");
  queue.add("a");
  await clock.advance(1000);
  expect(runs).toEqual([
    { key: "a", start: 0, end: 50 },
    { key: "a", start: 50, end: 100 },
  ]);
});

test("a key with two delays is handled once, after the shorter one", async () => {
  const { clock, queue, start, startsOf } = setUp();
  void start();
  queue.addAfter("a", 300);
  queue.addAfter("a", 100);
  queue.addAfter("a", 200);
  await clock.advance(1000);
  expect(startsOf("a")).toEqual([100]);
});

test("a key added now is not handled again after its former delay", async () => {
  const { clock, queue, start, startsOf } = setUp();
  void start();
  queue.addAfter("a", 300);
  queue.add("a");
  await clock.advance(1000);
  expect(startsOf("a")).toEqual([0]);
});

test("a key added now leaves no timer of its former delay", () => {
  const { clock, queue } = setUp();
  queue.addAfter("a", 300);
  queue.add("a");
  expect([queue.depth, clock.pending]).toEqual([1, 0]);
});

test("a key with a delay of zero waits for a worker at once", () => {
  const { clock, queue } = setUp();
  queue.addAfter("a", 0);
  expect([queue.depth, clock.pending]).toEqual([1, 0]);
});

test("the key of a handler that throws is retried with growing delays until it is forgotten", async () => {
  const { clock, queue, start, startsOf, failWhile } = setUp();
  failWhile(() => true);
  void start();
  queue.add("a");
  await clock.advance(800);
  expect(startsOf("a")).toEqual([0, 100, 300, 700]);
  expect(queue.failures("a")).toBe(4);

  failWhile(() => false);
  queue.forget("a");
  await clock.advance(10_000);
  expect(startsOf("a")).toEqual([0, 100, 300, 700, 1500]);
  expect(queue.failures("a")).toBe(0);
});

test("a handler that throws does not delay other keys", async () => {
  const { clock, queue, start, startsOf, failWhile } = setUp({ workers: 1 });
  failWhile((key) => key === "bad");
  void start();
  queue.add("bad");
  queue.add("good");
  await clock.settle();
  expect(startsOf("good")).toEqual([0]);
});

describe("drain", () => {
  test("waits for the handlers in flight, starts no other, and keeps waiting keys for the next run", async () => {
    const { clock, queue, start, stop, runs } = setUp({ workers: 1, takesMs: 100 });
    let drainedAt: number | undefined;
    void (async () => {
      await start();
      drainedAt = clock.monotonic();
    })();
    queue.add("a");
    queue.add("b");
    await clock.advance(40);
    stop.abort();
    await clock.advance(1000);
    expect(drainedAt).toBe(100);
    expect(runs).toEqual([{ key: "a", start: 0, end: 100 }]);
    expect(queue.depth).toBe(1);
  });

  test("lets the next run continue with the waiting keys", async () => {
    const { clock, queue, start, stop, runs } = setUp({ workers: 1, takesMs: 100 });
    const first = start();
    queue.add("a");
    queue.add("b");
    await clock.advance(40);
    stop.abort();
    await clock.advance(100);
    await first;
    const again: string[] = [];
    const handle = (key: string) => Promise.resolve(void again.push(key));
    void queue.run({ workers: 1, signal: new AbortController().signal, handle });
    await clock.settle();
    expect([runs.map(({ key }) => key), again]).toEqual([["a"], ["b"]]);
    await expect(start()).rejects.toThrow("this queue is already being run");
  });

  test("ends at once if the signal has aborted, and nothing is handled", async () => {
    const { clock, queue, start, stop, runs } = setUp();
    stop.abort();
    queue.add("a");
    await start();
    await clock.advance(1000);
    expect([runs, queue.depth]).toEqual([[], 1]);
  });

  test("ends at once when nothing runs", async () => {
    const { clock, queue, start, stop } = setUp();
    const done = start();
    await clock.advance(10);
    stop.abort();
    await done;
    queue.addAfter("a", 10);
    queue.close();
    expect(clock.pending).toBe(0);
  });
});

test("a closed queue is empty, so that metrics do not count its keys for ever", async () => {
  const { clock, queue, start, stop } = setUp();
  const done = start();
  stop.abort();
  await done;
  queue.add("a");
  queue.close();
  expect(queue.depth).toBe(0);
  queue.add("b");
  queue.addAfter("c", 10);
  expect([queue.depth, clock.pending]).toEqual([0, 0]);
});

describe("progress", () => {
  test("counts from the creation of the queue, then from the start of a run", async () => {
    const { clock } = setUp();
    await clock.advance(70);
    const queue = new WorkQueue({ clock, random: () => 0, backoff: { baseMs: 1, factor: 2, maxMs: 9, jitter: 0 } });
    expect(queue.progress().lastFinishedAt).toBe(70);
    await clock.advance(10);
    void queue.run({ workers: 1, signal: new AbortController().signal, handle: () => Promise.resolve() });
    expect(queue.progress().lastFinishedAt).toBe(80);
  });

  test("reports the wait of the oldest key and the time of the last finish", async () => {
    const { clock, queue, start } = setUp({ workers: 1, takesMs: 500 });
    void start();
    queue.add("a");
    await clock.advance(100);
    queue.add("b");
    await clock.advance(300);
    expect(queue.progress()).toEqual({ waiting: 1, oldestWaitMs: 300, lastFinishedAt: 0 });
    await clock.advance(150);
    expect(queue.progress()).toEqual({ waiting: 0, oldestWaitMs: 0, lastFinishedAt: 500 });
  });
});

test("a handler gets the wait of its key, and the depth falls as keys are handled", async () => {
  const heard: unknown[] = [];
  const { clock, queue, start } = setUp({
    workers: 1,
    takesMs: 100,
    onStarted: (key, waitedMs) => void heard.push([key, waitedMs, queue.depth]),
  });
  await clock.advance(1000);
  queue.add("a");
  queue.add("b");
  expect(queue.depth).toBe(2);
  await clock.advance(30);
  void start();
  await clock.advance(500);
  expect(heard).toEqual([
    ["a", 30, 1],
    ["b", 130, 0],
  ]);
});

type Step =
  | { do: "add"; key: string }
  | { do: "addAfter"; key: string; ms: number }
  | { do: "retry"; key: string }
  | { do: "pass"; ms: number };

const anyKey = fc.constantFrom("a1", "a2", "a3", "b1", "b2", "c1");
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("add" as const), key: anyKey }),
  fc.record({ do: fc.constant("addAfter" as const), key: anyKey, ms: fc.integer({ min: 0, max: 500 }) }),
  fc.record({ do: fc.constant("retry" as const), key: anyKey }),
  fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 300 }) }),
);

describe("in any order of calls", () => {
  test("no key runs twice at a time, flows and workers keep their bounds, and every add is followed by a run", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStep, { maxLength: 60 }),
        fc.record({ workers: fc.integer({ min: 1, max: 4 }), maxPerFlow: fc.integer({ min: 1, max: 3 }) }),
        fc.integer({ min: 1, max: 120 }),
        async (steps, { workers, maxPerFlow }, takesMs) => {
          const { clock, queue, runs, start, stop } = setUp({ workers, maxPerFlow, flowOf, takesMs });
          const done = start();
          const wishes: { key: string; at: number; due: number; seen: number }[] = [];
          const wish = (key: string, ms: number) => {
            wishes.push({
              key,
              at: clock.monotonic(),
              due: clock.monotonic() + ms,
              seen: startTimes(runs, key).length,
            });
          };
          for (const step of steps) {
            if (step.do === "pass") await clock.advance(step.ms);
            else if (step.do === "add") {
              wish(step.key, 0);
              queue.add(step.key);
            } else if (step.do === "addAfter") {
              wish(step.key, step.ms);
              queue.addAfter(step.key, step.ms);
            } else {
              queue.retry(step.key);
              wish(step.key, 1000);
            }
          }
          await clock.advance(60_000);
          stop.abort();
          await done;

          for (const { key, due, at, seen } of wishes) {
            const answer = startTimes(runs, key)[seen];
            // At most every other key may be before it, and its own run.
            const latest = due + (takesMs + 1) * 7;
            expect(answer, `a run of ${key} asked for at ${at}`).toBeGreaterThanOrEqual(at);
            expect(answer, `a run of ${key} due at ${due}`).toBeLessThanOrEqual(latest);
          }
          for (const run of runs) {
            const beside = runs.filter((other) => other.start <= run.start && run.start < other.end);
            const others = beside.filter((other) => other !== run);
            expect(others.map((other) => other.key)).not.toContain(run.key);
            expect(beside.length).toBeLessThanOrEqual(workers);
            const inFlow = beside.filter((other) => flowOf(other.key) === flowOf(run.key));
            expect(inFlow.length).toBeLessThanOrEqual(maxPerFlow);
          }
          expect(queue.depth).toBe(0);
          expect(clock.pending).toBe(0);
        },
      ),
      { numRuns: 300 },
    );
  });
});
