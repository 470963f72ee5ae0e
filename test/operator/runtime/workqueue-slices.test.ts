import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { WorkQueue } from "../../../src/operator/runtime/workqueue.ts";

test("handlers that wait for nothing let timers and sockets come in between", async () => {
  let now = 0;
  const timers: (() => void)[] = [];
  const clock = {
    now: () => now,
    monotonic: () => now,
    after: (_: number, run: () => void) => {
      timers.push(run);
      return () => {};
    },
  };
  const queue = new WorkQueue({ clock, random: () => 0, backoff: { baseMs: 1, factor: 1, maxMs: 1, jitter: 0 } });
  const handled: number[] = [];
  for (let key = 0; key < 100; key += 1) queue.add(String(key));
  const handle = async (key: string) => {
    now += 1;
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
