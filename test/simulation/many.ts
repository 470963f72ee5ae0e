import { Worker } from "node:worker_threads";
import { z } from "zod";
import { patience } from "../support/patience.ts";
import type { Mutant } from "./mutants.ts";

/** What a worker reports of one seed. */
export const Played = z.object({
  seed: z.number(),
  steps: z.number(),
  faults: z.array(z.tuple([z.string(), z.number()])),
  /** The first broken promise, in words. */
  broken: z.string().optional(),
});
export type Played = z.infer<typeof Played>;

/** Which seeds one worker plays, and the mistake that it plants in the operator (`mutants.ts`). */
export const Share = z.object({
  from: z.number(),
  until: z.number(),
  step: z.number(),
  mutant: z.object({ file: z.string(), line: z.string(), as: z.string() }).optional(),
});
export type Share = z.infer<typeof Share>;

/** What many runs came to. */
export interface Total {
  seeds: number;
  /** Requests that operators sent. */
  steps: number;
  /** How many faults of each kind befell them. */
  faults: Map<string, number>;
  failed: Played[];
}

/** Most seeds take a tenth of a second: one that takes this long, while the process runs, does not end. */
const seedLimitMs = 120_000;

interface ManyOptions {
  from: number;
  seeds: number;
  workers: number;
  mutant?: Mutant;
  limitMs?: number;
  /** Whether this seed is what was looked for, so that no more are played. */
  isLast?: (played: Played) => boolean;
}

/** Plays seeds on several threads; `reported` is called with each as it ends, and with each that does not. */
export async function playMany(
  { from, seeds, workers, mutant, limitMs = seedLimitMs, isLast = () => false }: ManyOptions,
  reported: (played: Played, total: Total) => void = () => {},
): Promise<Total> {
  const end = new AbortController();
  const total: Total = { seeds: 0, steps: 0, faults: new Map(), failed: [] };
  const take = (played: Played) => {
    total.seeds += 1;
    total.steps += played.steps;
    for (const [kind, count] of played.faults) total.faults.set(kind, (total.faults.get(kind) ?? 0) + count);
    if (played.broken !== undefined) total.failed.push(played);
    reported(played, total);
    if (isLast(played)) end.abort();
  };
  const shares = Array.from({ length: workers }, (_, index) => ({
    from: from + index,
    until: from + seeds,
    step: workers,
    ...(mutant === undefined ? {} : { mutant }),
  }));
  await Promise.all(shares.map((share) => playShare(share, { limitMs, take, signal: end.signal })));
  return total;
}

/** The line that plays a seed again, exactly as it was. */
export function replayOf({ seed, broken }: Played): string {
  return `seed ${seed} breaks a promise: ${broken}\n  replay it: npm run simulate -- --seed ${seed}`;
}

interface Playing {
  limitMs: number;
  take: (played: Played) => void;
  /** Aborted when no more seeds are to be played. */
  signal: AbortSignal;
}

/** A worker whose seed does not end is stopped, and another plays the seeds that follow. */
async function playShare(share: Share, playing: Playing): Promise<void> {
  let { from } = share;
  while (from < share.until && !playing.signal.aborted) {
    const next = await runWorker({ ...share, from }, playing);
    if (next === from && !playing.signal.aborted)
      throw new Error(`the worker that was to play seed ${from} ended before it had`);
    from = next;
  }
}

/** A world lives shorter than it takes to fill this: what it leaves behind then costs next to nothing to clear away. */
const resourceLimits = { maxYoungGenerationSizeMb: 128 };

/** Plays until no seed is left, one does not end or no more are wanted, and answers with the seed that follows. */
function runWorker(share: Share, { limitMs, take, signal }: Playing): Promise<number> {
  return new Promise((resolve, reject) => {
    let seed = share.from;
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: share, resourceLimits });
    const giveUp = () => {
      worker.removeAllListeners("message");
      take({ seed, steps: 0, faults: [], broken: `every seed ends: it is still at work after ${limitMs / 1000} s` });
      seed += share.step;
      void worker.terminate();
    };
    let limit = patience(limitMs, giveUp);
    const stop = () => void worker.terminate();
    signal.addEventListener("abort", stop);
    worker.on("message", (message) => {
      if (signal.aborted) return;
      limit.stop();
      limit = patience(limitMs, giveUp);
      seed += share.step;
      take(Played.parse(message));
    });
    worker.once("error", reject);
    worker.once("exit", () => {
      limit.stop();
      signal.removeEventListener("abort", stop);
      resolve(seed);
    });
  });
}
