import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { behavioursIn } from "../support/behaviour.ts";

it("docs/proof/attacks.md numbers the ways in which an operator goes wrong, and names a test that exists for each", () => {
  const rows = behavioursIn(readFileSync("docs/proof/attacks.md", "utf8"));
  expect(rows.map(({ behaviour }) => Number.parseInt(behaviour, 10))).toEqual(rows.map((_, index) => index + 1));
  expect(rows).toHaveLength(570);
  // Whether it has passed, only a run of it can tell: test/support/behaviour-reporter.ts.
  const words = rows.flatMap(({ file, test }) =>
    test.split(" > ").flatMap((name) => wordsOf(name).map((part) => ({ file, part }))),
  );
  const isWritten = (file: string, part: string) => existsSync(`test/${file}`) && read(file).includes(part);
  const missing = words.filter(({ file, part }) => !isWritten(file, part) && !/^"HTTP \d+"$/.test(part));
  expect(missing).toEqual([]);
});

/** The parts of a name that are given, with the quote at its beginning or end where that is given too. */
function wordsOf(name: string): string[] {
  return `"${name}"`
    .split("…")
    .map((part) => part.trim())
    .filter((part) => part !== '"');
}

function read(file: string): string {
  return readFileSync(`test/${file}`, "utf8").replaceAll("`", '"');
}
