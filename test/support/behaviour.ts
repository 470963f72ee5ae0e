/** A row of docs/proof/service-behaviour.md or docs/proof/attacks.md: what is so, and the test that proves it. */
export interface Behaviour {
  behaviour: string;
  /** Below `test/`. */
  file: string;
  /** The full name of a test; `…` stands for anything. */
  test: string;
}

/** The rows of all tables in the page that have three columns. */
export function behavioursIn(page: string): Behaviour[] {
  return page
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => line.slice(1, -1).split(" | "))
    .flatMap(([behaviour = "", file = "", test = ""]) => {
      const row = { behaviour: behaviour.trim(), file: file.trim(), test: test.trim() };
      return row.file === "file" || row.file.startsWith("---") ? [] : [row];
    });
}

/** Tests of one file that ran, by full name, and whether they passed. */
export type Ran = ReadonlyMap<string, ReadonlyMap<string, boolean>>;

/** What the page claims and a run does not bear out. Only files that ran can tell. */
export function unproved(behaviours: readonly Behaviour[], ran: Ran): string[] {
  return behaviours.flatMap(({ behaviour, file, test }) => {
    const tests = ran.get(file);
    if (!tests) return [];
    const pattern = new RegExp(`^${test.split("…").map(escaped).join(".*")}$`, "s");
    const named = [...tests].filter(([name]) => pattern.test(name));
    if (named.length === 0) return [`"${behaviour}": ${file} has no test named "${test}"`];
    return named.every(([, passed]) => passed) ? [] : [`"${behaviour}": "${test}" in ${file} has not passed`];
  });
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
