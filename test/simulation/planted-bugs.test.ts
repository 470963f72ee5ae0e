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

async function seedsUntilCaught({
  plant,
  weather = (script) => script,
}: PlantedBug): Promise<{ seeds: number; promise: string }> {
  for (let seed = 1; seed <= mostSeeds; seed++) {
    const { violations } = await play(weather(scriptOf(seed)), { plant: plant() });
    const [first] = violations;
    if (first !== undefined) return { seeds: seed, promise: first.promise };
  }
  return { seeds: mostSeeds, promise: "none" };
}
