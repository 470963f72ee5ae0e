import { noFaults, type Rates } from "./fault-plan.ts";
import { play, type RunOptions, type RunResult } from "./run.ts";
import type { Script } from "./run-script.ts";

/** A script that still breaks the same promise, with less in it. */
export interface Shrunk {
  script: Script;
  result: RunResult;
  /** How many runs that took. */
  runs: number;
}

/** Leaves out actions and kinds of faults, one after another, as long as the same promise is broken without them. */
export async function shrink(script: Script, result: RunResult, options: RunOptions = {}): Promise<Shrunk> {
  const promise = result.violations[0]?.promise;
  let best = { script, result };
  let runs = 0;
  const keepIfBroken = async (candidate: Script): Promise<boolean> => {
    runs += 1;
    const played = await play(candidate, options);
    if (played.violations[0]?.promise !== promise) return false;
    best = { script: candidate, result: played };
    return true;
  };
  for (const rates of calmerRates(script.rates))
    await keepIfBroken({ ...best.script, rates: rates(best.script.rates) });
  if (script.operators === 2) await keepIfBroken({ ...best.script, operators: 1 });
  let size = Math.ceil(best.script.actions.length / 2);
  while (size >= 1) {
    let from = 0;
    while (from < best.script.actions.length) {
      const actions = best.script.actions.toSpliced(from, size);
      if (!(await keepIfBroken({ ...best.script, actions }))) from += size;
    }
    size = size === 1 ? 0 : Math.ceil(size / 2);
  }
  return { ...best, runs };
}

/** All faults at once, then each kind alone. */
function calmerRates({ service, cluster }: Rates): ((now: Rates) => Rates)[] {
  const there = (rates: object) => Object.entries(rates).flatMap(([kind, rate]) => (rate > 0 ? [kind] : []));
  return [
    () => noFaults,
    ...there(service).map(
      (kind) =>
        (now: Rates): Rates => ({ ...now, service: { ...now.service, [kind]: 0 } }),
    ),
    ...there(cluster).map(
      (kind) =>
        (now: Rates): Rates => ({ ...now, cluster: { ...now.cluster, [kind]: 0 } }),
    ),
  ];
}
