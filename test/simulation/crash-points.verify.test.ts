import { describe, expect, it } from "vitest";
import { playWith } from "./fault-pairs/pairs.ts";
import { playPairs } from "./fault-pairs/workers.ts";
import { scenarios } from "./world/scenarios.ts";

describe.each(Object.entries(scenarios))("%s", (_, script) => {
  it("keeps every promise when nothing goes wrong", async () => {
    expect((await playWith(script)).wrong).toEqual([]);
  });
});

// `npm run simulate -- pairs` plays all of them: some hours.
const share = 131;

describe("a death, a lost reply, a late effect and a refusal", () => {
  it(`keep every promise, each at any one request, and one in ${share} of all pairs of them`, {
    timeout: 900_000,
  }, async () => {
    const { failures, singles, played, pairs } = await playPairs({ workers: 2, share });
    expect(failures).toEqual([]);
    expect(singles).toBeGreaterThan(4 * 1000);
    expect(Math.round(pairs / played)).toBe(share);
  });
});
