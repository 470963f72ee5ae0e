import { parentPort, workerData } from "node:worker_threads";
import { type Played, Share } from "./many.ts";
import { plantMutant } from "./mutants.ts";

const { from, until, step, mutant } = Share.parse(workerData);
if (mutant !== undefined) plantMutant(mutant);
const { play } = await import("./world/run.ts");
const { scriptOf } = await import("./world/script.ts");
for (let seed = from; seed < until; seed += step) {
  const { violations, steps, faults } = await play(scriptOf(seed));
  const [first] = violations;
  const broken = first === undefined ? {} : { broken: `${first.promise}: ${first.message}` };
  tell({ seed, steps, faults: [...faults], ...broken });
}

function tell(played: Played): void {
  parentPort?.postMessage(played);
}
