import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "rolldown/utils";
import { expect, it } from "vitest";
import { nodesIn } from "./sources.ts";

const root = join(import.meta.dirname, "..", "..");
/** Where conditions and events come from, and where their messages are. */
const files = globSync("src/operator/{branch,compute,conditions,connection,connection-secret,pool}/**/*.ts", {
  cwd: root,
}).map((file) => file.replaceAll("\\", "/"));
const places = /\/(messages\.ts|words\.ts|(messages|words)\/[^/]+\.ts)$/;

/** The texts of a module that are whole sentences, with X for what is filled in. */
function sentencesIn(source: string): string[] {
  const texts = [...nodesIn(parseSync("module.ts", source, { lang: "ts" }).program)].flatMap(({ node }) => {
    if (node.type === "Literal" && typeof node["value"] === "string") return [node["value"]];
    if (node.type !== "TemplateLiteral") return [];
    const { start, end } = node as { start: number; end?: unknown };
    return typeof end === "number" ? [filledIn(source.slice(start + 1, end - 1))] : [];
  });
  return texts.filter((text) => /^[A-Z].*\.$/s.test(text) && text.split(" ").length >= 4);
}

/** With X for each `${…}`, however deep. */
function filledIn(template: string): string {
  const innermost = /\$\{[^{}]*\}|\{[^{}$]*\}/g;
  const next = template.replaceAll(innermost, "X");
  return next === template ? template : filledIn(next);
}

const messages = files.flatMap((file) =>
  sentencesIn(readFileSync(join(root, file), "utf8")).map((text) => ({ file, text })),
);

const isLong = (text: string) => text.split(/[.!?] (?=[A-Z])/).length > 2;

it("a message is read, with what is filled in", () => {
  const texts = messages.map(({ text }) => text);
  expect(texts.length).toBeGreaterThan(60);
  expect(texts).toContain("Endpoint X was deleted.");
});

it("a message is written in one of the places for messages", () => {
  expect(messages.filter(({ file }) => !places.test(file))).toEqual([]);
});

it("a message has at most two sentences", () => {
  expect(messages.filter(({ text }) => isLong(text))).toEqual([]);
});

it("a message names its ids in the sentence, and none trails after a colon", () => {
  const trails = (text: string) => /: X\.?$/.test(text);
  const said =
    /(said|answer|could not X|could not X yet|refused to X|not available|refused the API key|see each with): X\.?$/i;
  expect(["It waits: X.", "It waits: X"].every(trails)).toBe(true);
  expect(messages.filter(({ text }) => trails(text) && !said.test(text))).toEqual([]);
});

it("a message uses no word of riddles, and no sentence of it has more than 36 words", () => {
  const riddle = /\b(somebody|whoever|whatever|anew|afresh|befall\w*|lest|whereof|thereby|told of|by itself)\b/i;
  expect(riddle.test("Somebody moved endpoint X.")).toBe(true);
  expect(messages.filter(({ text }) => riddle.test(text))).toEqual([]);
  const isWordy = (text: string) => text.split(/[.!?] (?=[A-Z])/).some((sentence) => sentence.split(" ").length > 36);
  expect(messages.filter(({ text }) => isWordy(text))).toEqual([]);
});

it("a message with three sentences, or filled in with an expression, is found out", () => {
  const source = 'const text = (id: string) => `It went. It came ${id === "" ? `{${id}}` : id}. It stays.`;';
  expect(sentencesIn(source)).toEqual(["It went. It came X. It stays."]);
  expect(sentencesIn(source).filter(isLong)).toHaveLength(1);
});
