import { readFileSync } from "node:fs";

const begin = "<!-- from docs/kubectl.md by `npm run generate` -->\n";
const end = "<!-- end -->\n";

/** The README with its table of one Compute in each state, put together from the real runs of docs/kubectl.md. */
export function readmeWithStates(): string {
  const readme = readFileSync("README.md", "utf8");
  const [before, rest] = halves(readme, begin);
  const [, after] = halves(rest, end);
  const runs = readFileSync("docs/kubectl.md", "utf8");
  const table = joined(runs, "kubectl get computes");
  return `${before}${begin}\n\`\`\`\n${table}\n\`\`\`\n\n${end}${after}`;
}

/** What this command printed in all its runs as one table. */
function joined(runs: string, command: string): string {
  const tables = runs.split(`$ ${command}\n`).slice(1).map(tableAtTheStart);
  const [heads = []] = tables[0] ?? [];
  const rows = [heads, ...tables.map(([, row = []]) => row)];
  const widths = heads.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("   "));
  return [`$ ${command}`, ...lines.map((line) => line.trimEnd())].join("\n");
}

/** Header and row as cells: a column begins where its title does. */
function tableAtTheStart(text: string): string[][] {
  const [head = "", row = ""] = text.split("\n");
  const starts = [...head.matchAll(/\S+/g)].map(({ index }) => index);
  return [head, row].map((line) => starts.map((start, column) => line.slice(start, starts[column + 1]).trim()));
}

function halves(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  if (at === -1) throw new Error(`README.md lacks the line ${mark.trim()}, where the table of states belongs`);
  return [text.slice(0, at), text.slice(at + mark.length)];
}
