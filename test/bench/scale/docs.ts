import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { millionTable } from "./million.ts";
import { svgOf } from "./plot.ts";
import { plotsOf, tables } from "./report.ts";
import type { Round } from "./round.ts";

const page = "docs/proof/bench.md";
const picture = "docs/images/fleets.svg";

/** Writes what was measured into the page, between its markers, and the plots beside it. */
export function writeDocs(rounds: readonly Round[], note: string): void {
  const text = readFileSync(page, "utf8");
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const measured = `At ${commit}, on ${availableParallelism()} cores${note}.\n\n${tables(rounds)}`;
  const filled = replaced(replaced(text, "scale", measured), "million", millionTable(rounds));
  writeFileSync(page, filled);
  writeFileSync(picture, svgOf(plotsOf(rounds)));
}

/** The text with other lines between `<!-- NAME -->` and `<!-- /NAME -->`. */
export function replaced(text: string, name: string, lines: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page} has no lines between ${begin} and ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${lines}\n\n${text.slice(to)}`;
}
