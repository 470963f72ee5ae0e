// `npm run bench`: the status is 1 where a median is too high. `scale` compares whole fleets, and has flags of its own.
import { flagsOf, partsOf } from "../support/flags.ts";
import { attacks } from "./attacks.ts";
import { cardinality } from "./cardinality.ts";
import { consolePages } from "./console-pages.ts";
import { endpointLists } from "./endpoint-lists.ts";
import { fairness } from "./fairness.ts";
import { type Bench, describeFigure, keeps } from "./figures.ts";
import { fleetMemory } from "./fleet-memory.ts";
import { latency } from "./latency.ts";
import { postgres } from "./postgres.ts";
import { postgresCopies } from "./postgres-copies.ts";
import { scale } from "./scale/main.ts";
import { schedules } from "./schedules.ts";

const benches: readonly Bench[] = [
  latency,
  endpointLists,
  consolePages,
  fairness,
  fleetMemory,
  schedules,
  cardinality,
  postgres,
  postgresCopies,
  attacks,
];

const known = benches.map(({ name }) => name);
const usage = `Usage: npm run bench -- [NAME…]
       npm run bench -- scale [flags]

  NAME   one of ${known.join(", ")} (default: all, in this order)`;

const words = process.argv.slice(2);
if (words[0] === "scale") process.exit(await scale(words.slice(1)));
const names = partsOf(usage, flagsOf(usage, { options: {}, allowPositionals: true }).positionals, known);

for (const bench of benches) {
  if (!names.includes(bench.name)) continue;
  console.log(`${bench.name}: ${bench.measures}`);
  for (const figure of await bench.run((line) => console.error(`  ${line}`))) {
    console.log(`  ${describeFigure(figure)}`);
    if (!keeps(figure)) process.exitCode = 1;
  }
}
