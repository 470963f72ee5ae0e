import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { playMany, replayOf } from "./many.ts";
import { describeFailure } from "./world/failure.ts";
import { play } from "./world/run.ts";
import { scriptOf } from "./world/script.ts";
import { shrink } from "./world/shrink.ts";

// npm run simulate -- --seed N                 replays one seed and shrinks what it breaks
// npm run simulate -- --seeds N --from S       plays many, on all cores

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    workers: { type: "string", default: String(availableParallelism()) },
  },
});
const { seed, seeds, from, workers } = values;
process.exitCode =
  seed === undefined ? await many(Number(from), Number(seeds), Number(workers)) : await replay(Number(seed));

async function replay(number: number): Promise<number> {
  const script = scriptOf(number);
  const result = await play(script);
  const [first] = result.violations;
  if (first === undefined) {
    console.log(`seed ${number} keeps every promise (${result.steps} requests)`);
    return 0;
  }
  console.log(`seed ${number} breaks "${first.promise}": shrinking it…`);
  const shrunk = await shrink(script, result);
  console.log(describeFailure(shrunk.script, shrunk.result));
  console.log(
    `(${shrunk.script.actions.length} of ${script.actions.length} actions are left, after ${shrunk.runs} runs)`,
  );
  return 1;
}

async function many(first: number, count: number, threads: number): Promise<number> {
  const startedAt = performance.now();
  const rate = (played: number) => `${((played * 1000) / (performance.now() - startedAt)).toFixed(1)} seeds a second`;
  let shownAt = startedAt;
  const total = await playMany({ from: first, seeds: count, workers: threads }, (played, soFar) => {
    if (played.broken !== undefined) console.log(replayOf(played));
    if (performance.now() - shownAt < 5000) return;
    shownAt = performance.now();
    console.log(`${soFar.seeds} of ${count} seeds, ${rate(soFar.seeds)}, ${soFar.failed.length} failed`);
  });
  console.log(`seeds ${first} to ${first + count - 1}: ${total.failed.length} failed, ${rate(count)}`);
  console.log(`${total.steps} requests of operators; faults:`);
  for (const [kind, times] of [...total.faults].toSorted(([a], [b]) => a.localeCompare(b))) {
    console.log(`  ${String(times).padStart(9)}  ${kind}`);
  }
  return total.failed.length === 0 ? 0 : 1;
}
