import { sleep } from "../../../src/operator/runtime/clock.ts";
import { WorkQueue, type WorkQueueOptions } from "../../../src/operator/runtime/workqueue.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

const forever = new AbortController().signal;

interface RunOptions {
  workers?: number;
  takesMs?: number;
  onStarted?: (key: string, waitedMs: number) => void;
}

/** A queue that records its runs; by default a run takes no time. */
export function setUp({ onStarted, ...options }: Partial<WorkQueueOptions> & RunOptions = {}) {
  const clock = new VirtualClock();
  const queue = new WorkQueue({
    clock,
    random: () => 0,
    backoff: { baseMs: 100, factor: 2, maxMs: 1000, jitter: 0 },
    ...options,
  });
  const runs: { key: string; start: number; end: number }[] = [];
  const stop = new AbortController();
  let failing: ((key: string) => boolean) | undefined;
  const start = () =>
    queue.run({
      workers: options.workers ?? 4,
      signal: stop.signal,
      handle: async (key, waitedMs) => {
        onStarted?.(key, waitedMs);
        const run = { key, start: clock.monotonic(), end: Number.POSITIVE_INFINITY };
        runs.push(run);
        if (options.takesMs !== undefined) await sleep(clock, options.takesMs, forever);
        run.end = clock.monotonic();
        if (failing?.(key) === true) throw new Error(`planned failure of ${key}`);
      },
    });
  const failWhile = (decide: (key: string) => boolean) => {
    failing = decide;
  };
  return { clock, queue, runs, stop, start, failWhile, startsOf: (key: string) => startTimes(runs, key) };
}

/** The tenant is the key's first letter. */
export function flowOf(key: string): string {
  return key.slice(0, 1);
}

export function startTimes(runs: readonly { key: string; start: number }[], key: string): number[] {
  return runs.filter((run) => run.key === key).map((run) => run.start);
}
