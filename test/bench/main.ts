// `npm run bench` runs them all, `npm run bench -- NAME…` those named. The status is 1 where a median is too high.
// `npm run bench -- scale` compares whole fleets, and has flags of its own.
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

const benches: readonly Bench[] = [
  latency,
  endpointLists,
  consolePages,
  fairness,
  fleetMemory,
  cardinality,
  postgres,
  postgresCopies,
  attacks,
];

const names = process.argv.slice(2);
if (names[0] === "scale") process.exit(await scale(names.slice(1)));
const unknown = names.filter((name) => !benches.some((bench) => bench.name === name));
if (unknown.length > 0) {
  console.error(
    `There is no bench ${unknown.join(", ")}. There are: ${[...benches.map(({ name }) => name), "scale"].join(", ")}.`,
  );
  process.exit(1);
}

for (const bench of benches) {
  if (names.length > 0 && !names.includes(bench.name)) continue;
  console.log(`${bench.name}: ${bench.measures}`);
  for (const figure of await bench.run((line) => console.error(`  ${line}`))) {
    console.log(`  ${describeFigure(figure)}`);
    if (!keeps(figure)) process.exitCode = 1;
  }
}
