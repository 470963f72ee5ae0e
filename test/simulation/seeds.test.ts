import { describe, expect, it } from "vitest";
import { playMany, replayOf } from "./many.ts";
import { first } from "./shares.ts";

describe("the operator in a simulated world", () => {
  it(`keeps every promise over the first ${first.seeds} seeds`, { timeout: 300_000 }, async () => {
    const total = await playMany(first);
    expect(total.failed.map(replayOf)).toEqual([]);
    expect(total.seeds).toBe(first.seeds);
  });
});
