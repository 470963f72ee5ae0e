import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "rolldown/utils";
import { expect, it } from "vitest";
import { nodesIn } from "./sources.ts";

const root = join(import.meta.dirname, "..", "..");

/** A beginning that needs a subject from elsewhere: such a name says nothing in a line of CI that shows it alone. */
const noSubject = /^(?:that|is|of|whose|are|has)\b/i;

/** The names of the tests that a source declares, as written. */
function namesIn(source: string): string[] {
  const { program } = parseSync("a.test.ts", source, { lang: "ts" });
  return [...nodesIn(program)].flatMap(({ node }) => {
    if (node.type !== "CallExpression" || !/^(?:it|test)(?:\W|$)/.test(textOf(node["callee"], source))) return [];
    const [name, body]: unknown[] = Array.isArray(node["arguments"]) ? node["arguments"] : [];
    const text = textOf(name, source);
    return body !== undefined && /^["'`]/.test(text) ? [text.slice(1, -1)] : [];
  });
}

function textOf(node: unknown, source: string): string {
  return isSpan(node) ? source.slice(node.start, node.end) : "";
}

function isSpan(value: unknown): value is { start: number; end: number } {
  if (typeof value !== "object" || value === null || !("start" in value) || !("end" in value)) return false;
  return typeof value.start === "number" && typeof value.end === "number";
}

const names = globSync("test/**/*.test.ts", { cwd: root }).flatMap((file) =>
  namesIn(readFileSync(join(root, file), "utf8")).map((name) => ({ file: file.replaceAll("\\", "/"), name })),
);

it("the names of the tests are found", () => {
  expect(names.length).toBeGreaterThan(2000);
});

it("the name of a test has its subject, so that it can be read alone", () => {
  expect(names.filter(({ name }) => noSubject.test(name))).toEqual([]);
});

it.each([
  ['it("is empty", () => {});', ["is empty"]],
  ["test(`of ${n} two`, async () => {});", ["of ${n} two"]],
  ['describe("a list", () => { it.each([[1]])("has %i", () => {}); });', ["has %i"]],
  ['it.for([1])("that is %i", { timeout: 1 }, () => {});', ["that is %i"]],
  ['it("a list is empty", () => {});', []],
  ['describe("of lists", () => { pattern.test("is empty"); expect(it("is")).toBe(1); });', []],
])("the names without a subject are found in %s", (source, found) => {
  expect(namesIn(source).filter((name) => noSubject.test(name))).toEqual(found);
});
