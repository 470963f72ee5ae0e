import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { playMany } from "./many.ts";
import { type Mutant, mutants, occurrences } from "./mutants.ts";
import { type PlantedBug, plantedBugs } from "./planted-bugs.ts";
import { play } from "./world/run.ts";
import { scriptOf } from "./world/script.ts";

/** Of correct code none of these seeds fails: `npm test` and `npm run verify` play them. */
const mostSeeds = 200;

describe("a planted bug is caught", () => {
  it.each(Object.entries(plantedBugs))("%s", { timeout: 300_000 }, async (name, bug) => {
    const caught = await seedsUntilCaught(bug);
    console.log(`${name}: caught after ${caught.seeds} seeds (${caught.promise})`);
    expect(caught.promise).toMatch(bug.breaks);
  });
});

describe("a mutant is caught", () => {
  it.each(Object.entries(mutants))("%s", { timeout: 300_000 }, async (name, mutant) => {
    expect(occurrences(mutant)).toBe(1);
    const caught = await seedsUntilMutantCaught(mutant);
    console.log(`${name}: caught after ${caught.seeds} seeds (${caught.promise})`);
    expect(caught.promise).toMatch(mutant.breaks);
  });
});

async function seedsUntilMutantCaught({
  file,
  line,
  as,
  breaks,
  from = 1,
}: Mutant & { breaks: RegExp; from?: number }): Promise<{ seeds: number; promise: string }> {
  const mutant = { file, line, as };
  const isLast = ({ broken = "" }) => breaks.test(broken);
  for (const seeds of [
    { from, seeds: mostSeeds + 1 - from },
    { from: 1, seeds: from - 1 },
  ]) {
    const { failed } = await playMany({ ...seeds, workers: 1, mutant, isLast });
    const [earliest] = failed.filter(isLast).toSorted((a, b) => a.seed - b.seed);
    if (earliest !== undefined) return { seeds: earliest.seed, promise: earliest.broken ?? "" };
  }
  return { seeds: mostSeeds, promise: "none" };
}

/** One mistake may break several promises: it is played until the one that it is known for is seen broken. */
async function seedsUntilCaught({
  plant,
  breaks,
  from = 1,
  weather = (script) => script,
}: PlantedBug): Promise<{ seeds: number; promise: string }> {
  for (let played = 0; played < mostSeeds; played++) {
    const seed = 1 + ((from - 1 + played) % mostSeeds);
    const { violations } = await play(weather(scriptOf(seed)), { plant: plant() });
    const broken = violations.find(({ promise }) => breaks.test(promise));
    if (broken !== undefined) return { seeds: seed, promise: broken.promise };
  }
  return { seeds: mostSeeds, promise: "none" };
}

it("docs/proof/simulation.md names each planted bug and each mutant, and a promise that it breaks", () => {
  const [, section = ""] =
    /## The harness can fail\n(.*?)\n## /s.exec(readFileSync("docs/proof/simulation.md", "utf8")) ?? [];
  const rows = [...section.matchAll(/^\| (.*) \| `(.*)`.* \|$/gm)].map(([, bug = "", promise = ""]) => ({
    bug,
    promise,
  }));
  const all: Readonly<Record<string, { breaks: RegExp }>> = { ...plantedBugs, ...mutants };
  expect(rows.map(({ bug }) => bug)).toEqual(Object.keys(all));
  for (const { bug, promise } of rows) expect(promise).toMatch(all[bug]?.breaks ?? /^$/);
});
