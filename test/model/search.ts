import { Search, type Searched } from "./checker.ts";
import { type Parts, parts } from "./operator.ts";
import type { Configuration } from "./terms.ts";
import { WorldModel } from "./world.ts";

/** Seconds of this process's own work: other programs of the machine do not count. */
const clock = () => process.cpuUsage().user / 1e6;

/** Searches the whole of a world, by the operator's own parts or by others. */
export function searched(configuration: Configuration, of: Parts = parts, mostStates = 200_000): Promise<Searched> {
  return new Search(new WorldModel(configuration, of), { mostStates, clock }).run();
}

/** One line with what was searched; below it, the shortest way to a violation. */
export function told(name: string, { states, steps, seconds, violation, isCutOff }: Searched): string {
  const figures = `${name}: ${states} states, ${steps} steps, ${seconds.toFixed(1)} s${isCutOff ? ", cut off" : ""}`;
  return violation === undefined ? figures : [figures, violation.what, ...violation.trace].join("\n");
}
