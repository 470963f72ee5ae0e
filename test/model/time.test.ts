import { expect, test } from "vitest";
import { configurationsOfTime } from "./configuration-of-time.ts";
import { searched, told } from "./search.ts";

// On a busy machine a second of work may take ten.
const timeout = 240_000;

test.each(configurationsOfTime)(
  "no state of a world with a clock breaks a promise, and all ends well: $name",
  { timeout },
  async (configuration) => {
    const result = await searched(configuration);
    console.log(told(configuration.name, result));
    expect(result.violation?.what).toBeUndefined();
    expect(result.isCutOff).toBe(false);
    expect(result.states).toBeGreaterThan(100);
  },
);
