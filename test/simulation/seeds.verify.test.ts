import { describe, expect, it } from "vitest";
import { playMany, replayOf } from "./many.ts";
import { first, rest } from "./shares.ts";

describe("the operator in a simulated world", () => {
  const last = rest.from + rest.seeds - 1;
  it(`keeps every promise over seeds ${rest.from} to ${last}`, async () => {
    expect(rest.from).toBe(first.from + first.seeds);
    const total = await playMany(rest);
    expect(total.failed.map(replayOf)).toEqual([]);
    expect(total.seeds).toBe(rest.seeds);
  });
});
