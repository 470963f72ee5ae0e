import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type PlantedBug, plantedBugs } from "./planted-bugs.ts";
import { play } from "./world/run.ts";
import { scriptOf } from "./world/script.ts";

/** Of correct code none of these seeds fails. */
const mostSeeds = 300;

describe("a planted bug is caught", () => {
  it.each(Object.entries(plantedBugs))("%s", { timeout: 300_000 }, async (name, bug) => {
    const caught = await seedsUntilCaught(bug);
    console.log(`${name}: caught after ${caught.seeds} seeds (${caught.promise})`);
    expect(caught.promise).toMatch(bug.breaks);
  });
});

/** One mistake may break several promises: it is played until the one that it is known for is seen broken. */
async function seedsUntilCaught({
  plant,
  breaks,
  weather = (script) => script,
}: PlantedBug): Promise<{ seeds: number; promise: string }> {
  for (let seed = 1; seed <= mostSeeds; seed++) {
    const { violations } = await play(weather(scriptOf(seed)), { plant: plant() });
    const broken = violations.find(({ promise }) => breaks.test(promise));
    if (broken !== undefined) return { seeds: seed, promise: broken.promise };
  }
  return { seeds: mostSeeds, promise: "none" };
}

it("docs/simulation.md names each planted bug, and a promise that it breaks", () => {
  const [, table = ""] = /## The harness can fail\n(.*?)\n## /s.exec(readFileSync("docs/simulation.md", "utf8")) ?? [];
  const rows = [...table.matchAll(/^\| (.*) \| `(.*)`.* \|$/gm)].map(([, bug = "", promise = ""]) => ({
    bug,
    promise,
  }));
  expect(rows.map(({ bug }) => bug)).toEqual(Object.keys(plantedBugs));
  for (const { bug, promise } of rows) expect(promise).toMatch(plantedBugs[bug]?.breaks ?? /^$/);
});
