import { expect, test } from "vitest";
import { largeConfigurations } from "./configuration.ts";
import { largeConfigurationsOfTime } from "./configuration-of-time.ts";
import { parts } from "./operator.ts";
import { searched, told } from "./search.ts";

// On a busy machine a second of work may take ten.
const timeout = 600_000;

test.each([...largeConfigurations, ...largeConfigurationsOfTime])(
  "no state breaks a promise, and all ends well: $name",
  { timeout },
  async (configuration) => {
    const result = await searched(configuration, parts, 400_000);
    console.log(told(configuration.name, result));
    expect(result.violation?.what).toBeUndefined();
    expect(result.isCutOff).toBe(false);
    expect(result.states).toBeGreaterThan(500);
  },
);
