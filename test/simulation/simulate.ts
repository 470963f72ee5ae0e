import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { z } from "zod";
import { describeFailure } from "./world/failure.ts";
import { play } from "./world/run.ts";
import { scriptOf } from "./world/script.ts";
import { shrink } from "./world/shrink.ts";

// npm run simulate -- --seed N                 replays one seed and shrinks what it breaks
// npm run simulate -- --seeds N --from S       plays many, on all cores

/** What a worker tells of one seed. */
const Played = z.object({
  seed: z.number(),
  steps: z.number(),
  faults: z.array(z.tuple([z.string(), z.number()])),
  /** Of the first broken promise. */
  broken: z.string().optional(),
});
type Played = z.infer<typeof Played>;

if (isMainThread) process.exitCode = await main();
else await work();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seed: { type: "string" },
      seeds: { type: "string", default: "1000" },
      from: { type: "string", default: "1" },
      workers: { type: "string", default: String(availableParallelism()) },
    },
  });
  if (values.seed !== undefined) return await replay(Number(values.seed));
  return await playMany(Number(values.from), Number(values.seeds), Number(values.workers));
}

async function replay(seed: number): Promise<number> {
  const script = scriptOf(seed);
  const result = await play(script);
  if (result.violations.length === 0) {
    console.log(`seed ${seed} keeps every promise (${result.steps} requests)`);
    return 0;
  }
  console.log(`seed ${seed} breaks "${result.violations[0]?.promise}": shrinking it…`);
  const shrunk = await shrink(script, result);
  console.log(describeFailure(shrunk.script, shrunk.result));
  console.log(
    `(${shrunk.script.actions.length} of ${script.actions.length} actions are left, after ${shrunk.runs} runs)`,
  );
  return 1;
}

async function playMany(from: number, seeds: number, workers: number): Promise<number> {
  const startedAt = performance.now();
  const total = { seeds: 0, steps: 0, faults: new Map<string, number>(), failed: [] as number[] };
  let shownAt = startedAt;
  const seconds = () => (performance.now() - startedAt) / 1000;
  const take = (played: Played) => {
    total.seeds += 1;
    total.steps += played.steps;
    for (const [kind, count] of played.faults) total.faults.set(kind, (total.faults.get(kind) ?? 0) + count);
    if (played.broken !== undefined) {
      total.failed.push(played.seed);
      console.log(`seed ${played.seed}: ${played.broken}\n  replay it: npm run simulate -- --seed ${played.seed}`);
    }
    if (performance.now() - shownAt < 5000) return;
    shownAt = performance.now();
    console.log(
      `${total.seeds} of ${seeds} seeds, ${(total.seeds / seconds()).toFixed(1)} a second, ${total.failed.length} failed`,
    );
  };
  await Promise.all(
    Array.from({ length: workers }, (_, index) =>
      runWorker({ from: from + index, until: from + seeds, step: workers }, take),
    ),
  );
  const faults = [...total.faults].toSorted(([a], [b]) => a.localeCompare(b));
  console.log(`seeds ${from} to ${from + seeds - 1}: ${total.failed.length} failed`);
  console.log(
    `${total.steps} requests of operators in ${seconds().toFixed(0)} s, ${(total.seeds / seconds()).toFixed(1)} seeds a second`,
  );
  for (const [kind, count] of faults) console.log(`  ${String(count).padStart(9)}  ${kind}`);
  return total.failed.length === 0 ? 0 : 1;
}

function runWorker(
  share: { from: number; until: number; step: number },
  take: (played: Played) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(import.meta.filename, { workerData: share });
    worker.on("message", (message) => take(Played.parse(message)));
    worker.once("error", reject);
    worker.once("exit", () => resolve());
  });
}

function tell(played: Played): void {
  parentPort?.postMessage(played);
}

async function work(): Promise<void> {
  const { from, until, step } = z.object({ from: z.number(), until: z.number(), step: z.number() }).parse(workerData);
  for (let seed = from; seed < until; seed += step) {
    const { violations, steps, faults } = await play(scriptOf(seed));
    const [first] = violations;
    const played: Played = {
      seed,
      steps,
      faults: [...faults],
      ...(first === undefined ? {} : { broken: `${first.promise}: ${first.message}` }),
    };
    tell(played);
  }
}
