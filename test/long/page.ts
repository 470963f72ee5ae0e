import { commandOf, type LongRun } from "./runs.ts";

/** What became of a run. */
export interface LongResult {
  /** Of the sources that ran; with a `+` where they had changes that are in no commit. */
  commit: string;
  /** E.g. `2026-01-05`. */
  date: string;
  minutes: number;
  passed: boolean;
  /** Its summary, if it has one. */
  said: string;
}

const head = ["| run | what it shows | last result | commit | date | minutes |", "|---|---|---|---|---|---|"];

/** The page with the row of this run renewed, in the order of `runs`; rows of runs that are no more are dropped. */
export function renewed(page: string, runs: readonly LongRun[], name: string, result: LongResult): string {
  const rows = new Map(rowsOf(page).set(name, cells(result)));
  const table = runs.map((run) => {
    const known = rows.get(run.name) ?? ["not run yet", "", "", ""];
    return `| \`${commandOf(run)}\` | ${run.shows} | ${known.join(" | ")} |`;
  });
  return page.replace(tableOf(page), [...head, ...table].join("\n"));

  function rowsOf(text: string): Map<string, readonly string[]> {
    const lines = tableOf(text).split("\n").slice(2);
    return new Map(
      lines.flatMap((line): [string, readonly string[]][] => {
        const [command = "", , ...rest] = line.slice(2, -2).split(" | ");
        const run = runs.find((candidate) => `\`${commandOf(candidate)}\`` === command);
        return run === undefined ? [] : [[run.name, rest]];
      }),
    );
  }
}

function tableOf(page: string): string {
  const table = /^\| run \|(?:.*\n)(?:\|.*(?:\n|$))*/m.exec(page)?.[0].trimEnd();
  if (table === undefined) throw new Error("docs/proof/long-runs.md has no table that begins with `| run |`");
  return table;
}

function cells({ commit, date, minutes, passed, said }: LongResult): readonly string[] {
  const words = said.replaceAll("|", "\\|").trim();
  return [`${passed ? "passed" : "**failed**"}${words === "" ? "" : `: ${words}`}`, commit, date, String(minutes)];
}
