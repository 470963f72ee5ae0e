import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { WorkQueue } from "../../../src/operator/runtime/workqueue.ts";
import { workClock } from "./work-clock.ts";

test("handlers that wait for nothing let timers and sockets come in between", async () => {
  const { clock, timers, work } = workClock();
  const queue = new WorkQueue({ clock, random: () => 0, backoff: { baseMs: 1, factor: 1, maxMs: 1, jitter: 0 } });
  const handled: number[] = [];
  for (let key = 0; key < 100; key += 1) queue.add(String(key));
  const handle = async (key: string) => {
    work(1);
    handled.push(Number(key));
  };
  const stop = new AbortController();
  const done = queue.run({ workers: 1, signal: stop.signal, handle });
  const perTask: number[] = [];
  do {
    const before = handled.length;
    timers.shift()?.();
    await setImmediate();
    perTask.push(handled.length - before);
  } while (timers.length > 0);
  expect(perTask).toEqual(Array.from({ length: 10 }, () => 10));
  expect(handled).toEqual(Array.from({ length: 100 }, (_, key) => key));
  stop.abort();
  await done;
});

/** A queue that has just handled keys for as long as it may in a row; `timers`: what waits for its turn. */
async function yielding() {
  const { clock, timers, work } = workClock();
  const queue = new WorkQueue({ clock, random: () => 0, backoff: { baseMs: 1, factor: 1, maxMs: 1, jitter: 0 } });
  const handled: string[] = [];
  const handle = async (key: string) => {
    work(1);
    handled.push(key);
  };
  const stop = new AbortController();
  for (let key = 0; key < 12; key += 1) queue.add(String(key));
  const done = queue.run({ workers: 1, signal: stop.signal, handle });
  await setImmediate();
  return { queue, timers, handled, stop, done, pass: work };
}

test("keys that are added while timers and sockets have their turn wait for its end, which is planned once", async () => {
  const { queue, timers, handled, stop, done } = await yielding();
  expect([handled.length, timers.length]).toEqual([10, 1]);
  for (const key of ["a", "b", "c"]) {
    queue.add(key);
    await setImmediate();
  }
  expect([handled.length, timers.length]).toEqual([10, 1]);
  timers.shift()?.();
  await setImmediate();
  expect(handled.slice(10)).toEqual(["10", "11", "a", "b", "c"]);
  stop.abort();
  await done;
});

test("a key that comes to an idle queue is handled at once, however long ago handlers last started", async () => {
  const { queue, timers, handled, stop, done, pass } = await yielding();
  timers.shift()?.();
  await setImmediate();
  pass(5);
  queue.add("a");
  await setImmediate();
  pass(60_000);
  queue.add("b");
  await setImmediate();
  expect([handled.slice(12), timers.length]).toEqual([["a", "b"], 0]);
  stop.abort();
  await done;
});
