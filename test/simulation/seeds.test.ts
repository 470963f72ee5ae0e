import { describe, expect, it } from "vitest";
import { describeFailure } from "./world/failure.ts";
import { play } from "./world/run.ts";
import { scriptOf } from "./world/script.ts";

describe("the operator in a simulated world", () => {
  it("keeps every promise over the first seeds", { timeout: 120_000 }, async () => {
    const failures: string[] = [];
    for (let seed = 1; seed <= 12; seed++) {
      const script = scriptOf(seed);
      const result = await play(script);
      if (result.violations.length > 0) failures.push(describeFailure(script, result));
    }
    expect(failures).toEqual([]);
  });
});
