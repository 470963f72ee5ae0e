import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { plantedBugsOfTime } from "./planted-bugs-of-time.ts";
import { searched } from "./search.ts";

test.each(Object.keys(plantedBugsOfTime))(
  "the search finds a planted bug in a world with a clock: %s",
  { timeout: 240_000 },
  async (name) => {
    const bug = plantedBugsOfTime[name];
    if (bug === undefined) throw new Error(name);
    const { violation } = await searched(bug.configuration, bug.parts, 20_000);
    expect(violation?.what).toMatch(bug.breaks);
  },
);

test("docs/proof/simulation.md names each planted bug of a world with a clock, and what it leads to", () => {
  const [, section = ""] =
    /### Worlds with a clock\n(.*?)\n### /s.exec(readFileSync("docs/proof/simulation.md", "utf8")) ?? [];
  const rows = [...section.matchAll(/^\| (.*) \| `(.*)` \|$/gm)];
  expect(rows.map(([, bug]) => bug)).toEqual(Object.keys(plantedBugsOfTime));
  for (const [, bug = "", promise = ""] of rows) expect(promise).toMatch(plantedBugsOfTime[bug]?.breaks ?? /^$/);
});
