import { availableParallelism } from "node:os";
import { flagsOf, shardOf, wholeNumber } from "../../support/flags.ts";
import { playPairs } from "./workers.ts";

const usage = `Usage: npm run simulate -- pairs [flags]

  --shard K/N     the Kth of N parts of the pairs of faults (default 1/1: all of them, some hours)
  --scenario NAME of this scenario alone
  --workers N     on how many cores (default: all)`;

const { values } = flagsOf(usage, {
  options: {
    shard: { type: "string", default: "1/1" },
    scenario: { type: "string" },
    workers: { type: "string", default: String(availableParallelism()) },
  },
});
const { scenario, shard } = values;
const workers = wholeNumber(usage, "--workers", values.workers, 1);

let shownAt = 0;
let known = 0;
const total = await playPairs(
  { singleShare: 1, pairShard: shardOf(usage, shard), workers, only: scenario },
  ({ singles, played, pairs, failures }) => {
    for (const failure of failures.slice(known)) console.log(failure);
    known = failures.length;
    if (performance.now() - shownAt < 10_000) return;
    shownAt = performance.now();
    console.log(`${singles} single faults, ${played} of ${pairs} pairs so far, ${failures.length} failed`);
  },
);
const { singles, played, pairs, failures } = total;
console.log(`pairs: ${singles} single faults, ${played} of ${pairs} pairs, ${failures.length} failed`);
process.exitCode = failures.length === 0 && singles > 0 ? 0 : 1;
