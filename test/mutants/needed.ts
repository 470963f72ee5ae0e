import { add, type MeasuredFile } from "./plan.ts";
import type { Verdict } from "./trial.ts";

/** How many tests that catch a mutant stay, where there are so many: one of them may be wrong some day. */
const stay = 2;
/** How many are looked for: what is left to choose from. */
export const lookedFor = stay + 1;

/**
 * The tests that can all go, as file and name, without a mutant that was caught being caught by fewer than `stay`, or
 * than there are. Those that catch the fewest go first.
 */
export function unneeded(measured: readonly MeasuredFile[], verdicts: Iterable<Verdict>): string[] {
  const caughtBy = new Map<string, { left: number }[]>();
  for (const { catchers = [] } of verdicts) {
    // Tests of one name go together.
    const names = new Set(catchers);
    const mutant = { left: names.size };
    for (const name of names) add(caughtBy, name, mutant);
  }
  const names = measured.flatMap(({ file, tests }) =>
    tests.filter(({ failure }) => failure === undefined).map(({ name }) => `${file}: ${name}`),
  );
  const caught = (name: string) => caughtBy.get(name) ?? [];
  return [...new Set(names)]
    .toSorted((one, other) => caught(one).length - caught(other).length)
    .filter((name) => {
      const canGo = caught(name).every(({ left }) => left > stay);
      if (canGo) for (const mutant of caught(name)) mutant.left -= 1;
      return canGo;
    });
}
