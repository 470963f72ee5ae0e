import { availableParallelism } from "node:os";
import { describe, expect, it } from "vitest";
import { playMany, replayOf } from "./many.ts";

const seeds = 2000;

describe("the operator in a simulated world", () => {
  it(`keeps every promise over ${seeds} seeds`, { timeout: 900_000 }, async () => {
    const total = await playMany({ from: 1, seeds, workers: Math.min(2, availableParallelism()) });
    expect(total.failed.map(replayOf)).toEqual([]);
    expect(total.seeds).toBe(seeds);
  });
});
