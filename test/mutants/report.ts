import { dirname } from "node:path";
import { type Accepted, accepts } from "./accepted.ts";
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

/** docs/proof/mutants.md. */
export function pageOf(
  verdicts: ReadonlyMap<Mutant, Verdict>,
  accepted: readonly Accepted[],
  open: readonly Mutant[],
  commit: string,
): string {
  const rooms = new Map<string, Verdict[]>();
  for (const [{ file }, verdict] of verdicts) {
    const room = dirname(file).split("/").slice(0, 3).join("/");
    rooms.set(room, [...(rooms.get(room) ?? []), verdict]);
  }
  const rows = [...rooms].map(([room, list]) => {
    const of = (outcome: string) => list.filter((verdict) => verdict.outcome === outcome).length;
    const share = percent(of("caught"), list.length);
    return `| \`${room}\` | ${list.length} | ${of("caught")} | ${share} | ${of("survived")} | ${of("not reached")} |`;
  });
  const left = [...verdicts].filter(([, { outcome }]) => outcome !== "caught").map(([mutant]) => mutant);
  const meant = accepted
    .map((entry) => ({ ...entry, mutants: left.filter((mutant) => accepts(entry, mutant)).length }))
    .filter(({ mutants }) => mutants > 0);
  return [
    "# Mutants",
    "",
    "A test that cannot fail proves nothing. `npm run mutants` makes small mistakes, one at a time, in all of `src/operator` and",
    "`src/cli`: it forces and inverts conditions, moves comparisons by one, removes calls, awaits, options and elements, and drops",
    "results. For each mutant it runs the unit tests that reach the change, and 20 seeds of the simulation, until one fails. If",
    "none fails, it asks the compiler. Log lines and the text of messages are not changed, and `src/service` is not covered: it is",
    "what the operator is tested against.",
    "",
    "```",
    "npm run mutants                                 # all, within two hours on two cores",
    "npm run mutants -- --only compute/plan          # some files",
    "npm run mutants -- --since HEAD~1               # the lines of the last commit",
    "```",
    "",
    `Last full run, which wrote this page: at ${commit}, ${summaryOf(verdicts, open.length).slice("mutants: ".length)}.`,
    "",
    "| | mutants | caught | | survived | reached by no test |",
    "|---|---|---|---|---|---|",
    ...rows,
    "",
    "## Survivors with a reason",
    "",
    "From `test/mutants/accepted/`; code between slashes is a regular expression.",
    "",
    "| where | change | survivors | why nothing catches it |",
    "|---|---|---|---|",
    ...meant.map(({ file, within = "", original, what, mutants, because }) => {
      const change = `${[what].flat().join(", ")}: ${code(original)}`;
      const place = `${file.replace("src/operator/", "")} ${within}`.trim() || "everywhere";
      return `| ${code(place)} | ${change} | ${mutants} | ${because} |`;
    }),
    "",
    ...(open.length === 0
      ? []
      : ["## Survivors without a reason yet", "", ...open.map((mutant) => `- ${code(survivorLine(mutant))}`), ""]),
  ].join("\n");
}

function code(text: string): string {
  const short = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return `\`${short.replaceAll("`", "'").replaceAll("|", "\\|")}\``;
}

function percent(part: number, whole: number): string {
  return whole === 0 ? "100 %" : `${((100 * part) / whole).toFixed(1)} %`;
}
