import { describe, expect, test } from "vitest";
import { configurations, lateCreates, lateNotes, policies } from "./configurations.ts";
import { plantedBugs } from "./planted-bugs.ts";
import { searched } from "./search.ts";

// On a busy machine a second of work may take ten.
const timeout = 240_000;

test.each(configurations(2, 3))(
  "no path of two happenings breaks a promise of Branches, and all ends well: $name",
  {
    timeout,
  },
  async (configuration) => {
    const { paths, reconciles, violation } = await searched(configuration);
    console.log(`${configuration.name}: ${paths} paths, ${reconciles} reconciles`);
    expect(violation).toBeUndefined();
    expect(paths).toBeGreaterThan(1000);
  },
);

test.each([
  { name: "late creates and deaths", among: lateCreates },
  { name: "late creates and changes of the policy", among: policies },
  { name: "late notes of a reset", among: lateNotes },
])("no path of $name and a deletion breaks a promise of Branches, and all ends well", async ({ name, among }) => {
  const world = { name, expiry: { never: true }, showsResets: true };
  const { paths, reconciles, violation } = await searched({ ...world, ...among });
  console.log(`${name}: ${paths} paths, ${reconciles} reconciles`);
  expect(violation).toBeUndefined();
  expect(paths).toBeGreaterThan(500);
});

describe("a planted bug of Branches is found", () => {
  test.each(Object.entries(plantedBugs))(
    "%s",
    { timeout },
    async (name, { parts, breaks, showsResets = true, expiry = { never: true }, happenings = 2, steps = 3, among }) => {
      const world = { name, expiry, showsResets, happenings, steps, ...(among !== undefined && { among }) };
      const { violation, paths } = await searched(world, parts);
      console.log(`${name}: found after ${paths} paths: ${violation?.what} by ${violation?.path.join("; ")}`);
      expect(violation?.what).toMatch(breaks);
    },
  );
});
