import { dirname } from "node:path";
import type { Mutant } from "./instrument.ts";
import type { Verdict } from "./trial.ts";

const longest = 110;

/** A mutant for a person, e.g. `src/a.ts:12 Queue.add: left out: this.#wake()`. */
export function survivorLine({ file, line, within, original, what, occurrence }: Mutant): string {
  const text = original.length > longest ? `${original.slice(0, longest)}…` : original;
  const which = occurrence > 1 ? ` (#${occurrence})` : "";
  return `${file}:${line} ${within || "module"}: ${what}${which}: ${text}`;
}

/** The whole in one line, which `npm run verify:long` records. */
export function summaryOf(verdicts: ReadonlyMap<Mutant, Verdict>, open: number): string {
  const caught = [...verdicts.values()].filter(({ outcome }) => outcome === "caught").length;
  return `mutants: ${caught} of ${verdicts.size} caught (${percent(caught, verdicts.size)}), ${open} survivors without a reason`;
}

/** A line for each folder of the sources: how many mutants it has, and what became of them. */
export function roomLines(verdicts: ReadonlyMap<Mutant, Verdict>): string[] {
  const rooms = new Map<string, Verdict[]>();
  for (const [{ file }, verdict] of verdicts) {
    const room = dirname(file).split("/").slice(0, 3).join("/");
    rooms.set(room, [...(rooms.get(room) ?? []), verdict]);
  }
  return [...rooms].map(([room, list]) => {
    const of = (outcome: string) => list.filter((verdict) => verdict.outcome === outcome).length;
    const share = percent(of("caught"), list.length);
    return `${room}: ${of("caught")} of ${list.length} caught (${share}), ${of("survived")} survived, ${of("not reached")} reached by no test`;
  });
}

function percent(part: number, whole: number): string {
  return whole === 0 ? "100 %" : `${((100 * part) / whole).toFixed(1)} %`;
}
