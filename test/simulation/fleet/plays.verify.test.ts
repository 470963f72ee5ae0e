import { expect, it } from "vitest";
import { playFleet } from "./play.ts";

it("random plays of a fleet keep rule 1 of the design in 300 more seeds", async () => {
  const failed: string[] = [];
  for (let seed = 1001; seed <= 1300; seed += 1) {
    const wrong = await playFleet(seed);
    if (wrong.length > 0) failed.push(`seed ${seed}: ${wrong.join("; ")}`);
  }
  expect(failed).toEqual([]);
}, 1_800_000);
