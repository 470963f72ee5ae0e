import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { plantedBugs } from "./planted-bugs.ts";
import { searched } from "./search.ts";

test.each(Object.keys(plantedBugs))("the search finds a planted bug: %s", { timeout: 240_000 }, async (name) => {
  const bug = plantedBugs[name];
  if (bug === undefined) throw new Error(name);
  const { violation } = await searched(bug.configuration, bug.parts, 20_000);
  expect(violation?.what).toMatch(bug.breaks);
});

test("at least fifteen bugs are planted", () => {
  expect(Object.keys(plantedBugs).length).toBeGreaterThanOrEqual(15);
});

test("docs/proof/simulation.md names each planted bug, and a promise that it breaks", () => {
  const [, section = ""] =
    /### The search can fail\n(.*)/s.exec(readFileSync("docs/proof/simulation.md", "utf8")) ?? [];
  const rows = [...section.matchAll(/^\| (.*) \| `(.*)` \|$/gm)];
  expect(rows.map(([, bug]) => bug)).toEqual(Object.keys(plantedBugs));
  for (const [, bug = "", promise = ""] of rows) expect(promise).toMatch(plantedBugs[bug]?.breaks ?? /^$/);
});
