import { expect, it } from "vitest";
import { playMany } from "./many.ts";
import { occurrences } from "./mutants.ts";

it("a seed that does not end is reported, and those after it are played", { timeout: 60_000 }, async () => {
  const mutant = { file: "project/gate.ts", line: "this.#waitsFor = this.#tryPass(write);", as: "for (;;);" };
  expect(occurrences(mutant)).toBe(1);
  const { seeds, failed } = await playMany({ from: 1, seeds: 2, workers: 1, mutant, limitMs: 3_000 });
  const broken = "every seed ends: it is still at work after 3 s";
  expect(failed).toEqual([1, 2].map((seed) => ({ seed, steps: 0, faults: [], broken })));
  expect(seeds).toBe(2);
});
