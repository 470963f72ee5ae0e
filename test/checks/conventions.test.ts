import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");
const self = "test/checks/conventions.test.ts";
const sources = globSync("{src,test,scripts}/**/*.{ts,mjs}", { cwd: root })
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => file !== self)
  .map((file) => ({ file, lines: readFileSync(join(root, file), "utf8").trimEnd().split("\n") }));

const longest = 300;
/** A test is read from its name on: one file for one subject may be longer. */
const longestTest = 600;
const widest = 120;
/** A line of nothing but a comment: the formatter wraps code, and leaves these as they are. */
const comment = /^\s*(?:\/\/|\/\*|\*)/;

/** What no source may hold, and why not. */
const banned: ReadonlyArray<readonly [string, RegExp]> = [
  ["a cast through unknown proves nothing", /\bas unknown as\b/],
  ["a silenced compiler hides the next mistake too", /@ts-(ignore|nocheck|expect-error)/],
  ["an open end belongs in an issue", /\b(TODO|FIXME|XXX)\b/],
  ["a skipped test proves nothing", /\b(it|test|describe)\.(skip|todo|only|skipIf|runIf|fails)\b/],
  ["a silenced linter needs a better reason than a comment", /(oxlint|eslint|biome)-(disable|ignore)/],
];

it("the sources are found", () => {
  expect(sources.length).toBeGreaterThan(20);
});

it(`a source has at most ${longest} lines, and ${longestTest} as a test`, () => {
  const mostOf = (file: string) => (file.endsWith(".test.ts") ? longestTest : longest);
  const long = sources.filter(({ file, lines }) => lines.length > mostOf(file));
  expect(long.map(({ file, lines }) => `${file}: ${lines.length}`)).toEqual([]);
});

it(`a comment is at most ${widest} columns wide`, () => {
  const wide = sources.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) => (comment.test(line) && line.length > widest ? [`${file}:${index + 1}`] : [])),
  );
  expect(wide).toEqual([]);
});

it.each(banned)("every source knows that %s", (_why, pattern) => {
  const found = sources.flatMap(({ file, lines }) =>
    lines.flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );
  expect(found).toEqual([]);
});
