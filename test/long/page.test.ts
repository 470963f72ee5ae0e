import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type LongResult, renewed } from "./page.ts";
import { longRuns } from "./runs.ts";

const runs = [
  { name: "one", script: "simulate", flags: ["--seeds", "5"], shows: "this" },
  { name: "two", script: "soak", flags: [], shows: "that" },
];
const result: LongResult = { commit: "abc1234", date: "2026-01-05", minutes: 3, passed: true, said: "a | b" };
const empty = "# Title\n\n| run | what |\n|---|---|\n\nThe end.\n";

it("a result is written into the table, where the next one replaces it and those of other runs stay", () => {
  const once = renewed(empty, runs, "two", result);
  expect(once).toContain("| `npm run simulate -- --seeds 5` | this | not run yet |  |  |  |\n");
  expect(once).toContain(String.raw`| that | passed: a \| b | abc1234 | 2026-01-05 | 3 |`);
  expect(once).toMatch(/\n\nThe end\.\n$/);
  const twice = renewed(once, runs, "one", { ...result, passed: false, said: "" });
  expect(twice).toContain("| this | **failed** | abc1234 | 2026-01-05 | 3 |\n");
  expect(twice).toContain("| that | passed");
  expect(renewed(twice, runs, "one", result)).not.toContain("**failed**");
});

it("docs/proof/long-runs.md has a row for each long run", () => {
  const page = readFileSync("docs/proof/long-runs.md", "utf8");
  const [name = ""] = longRuns.map((run) => run.name);
  const rows = (text: string) => text.split("\n").filter((line) => line.startsWith("| `"));
  expect(rows(renewed(page, longRuns, name, result))).toHaveLength(longRuns.length);
  const commands = (text: string) => rows(text).map((row) => row.split(" | ")[0]);
  expect(commands(page)).toEqual(commands(renewed(page, longRuns, name, result)));
});
