import { expect, test } from "vitest";
import { largeConfigurations } from "./configuration.ts";
import { parts } from "./operator.ts";
import { searched, told } from "./search.ts";

// On a busy machine a second of work may take ten.
const timeout = 600_000;

/**
 * Not mended yet: a process dies after it recorded a move that never reached the service. The next term says MovedOutside
 * and does not send the move again. The search fails here; when it is mended, this test says so.
 */
const defective = "a primary that moves there and back, with a death";

test.fails(`a known defect still stands: ${defective}`, { timeout }, async () => {
  const configuration = largeConfigurations.find(({ name }) => name === defective);
  if (configuration === undefined) return;
  const result = await searched(configuration, parts, 400_000);
  expect(result.violation?.what).toBeUndefined();
});

test.each(largeConfigurations.filter(({ name }) => name !== defective))(
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
