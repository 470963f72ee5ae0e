import { availableParallelism } from "node:os";
import { flagsOf, wholeNumber } from "../support/flags.ts";
import { playMany, replayOf } from "./many.ts";
import { describeFailure } from "./world/failure.ts";
import { play } from "./world/run.ts";
import { scriptOf } from "./world/script.ts";
import { shrink } from "./world/shrink.ts";

const usage = `Usage: npm run simulate -- [flags]
       npm run simulate -- pairs | model | traces [flags]

  --seed N      replays one seed and shrinks what it breaks; without it many are played:
  --seeds N     how many (default 1000)
  --from N      the first of them (default 1)
  --workers N   on how many cores (default: all)`;

const { values } = flagsOf(usage, {
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    workers: { type: "string", default: String(availableParallelism()) },
  },
});
const whole = (flag: "seed" | "seeds" | "from" | "workers") => wholeNumber(usage, `--${flag}`, values[flag] ?? "", 1);
process.exitCode =
  values.seed === undefined ? await many(whole("from"), whole("seeds"), whole("workers")) : await replay(whole("seed"));

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
