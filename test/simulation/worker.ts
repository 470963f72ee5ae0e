import { parentPort, workerData } from "node:worker_threads";
import { type Played, Share } from "./many.ts";
import { play } from "./world/run.ts";
import { scriptOf } from "./world/script.ts";

const { from, until, step } = Share.parse(workerData);
for (let seed = from; seed < until; seed += step) {
  const { violations, steps, faults } = await play(scriptOf(seed));
  const [first] = violations;
  const broken = first === undefined ? {} : { broken: `${first.promise}: ${first.message}` };
  tell({ seed, steps, faults: [...faults], ...broken });
}

function tell(played: Played): void {
  parentPort?.postMessage(played);
}
