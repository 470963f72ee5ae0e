import { describe, expect, it } from "vitest";
import { playWith } from "./fault-pairs/pairs.ts";
import { playPairs } from "./fault-pairs/workers.ts";
import { scenarios } from "./world/scenarios.ts";

describe.each(Object.entries(scenarios))("%s", (_, script) => {
  it("keeps every promise when nothing goes wrong", async () => {
    expect((await playWith(script)).wrong).toEqual([]);
  });
});

// `npm run simulate -- pairs`, which is part of `npm run verify:long`, plays all of them: some hours.
const singleShare = 2;
const pairShare = 131;

describe("a death, a lost reply, a late effect and a refusal", () => {
  it(`keep every promise, one in ${singleShare} of them at each request, and one in ${pairShare} of their pairs`, async () => {
    const pairShard = { part: 1, parts: pairShare };
    const { failures, singles, played, pairs } = await playPairs({ workers: 2, singleShare, pairShard });
    expect(failures).toEqual([]);
    expect(singles).toBeGreaterThan(3 * 1000);
    // Which pairs these are depends on how many requests each run makes, so the share is nearly that.
    expect(Math.abs(pairs / played / pairShare - 1)).toBeLessThan(0.05);
  });
});
