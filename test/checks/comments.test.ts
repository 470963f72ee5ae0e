import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "rolldown/utils";
import { describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "..", "..");

/** Words that name nothing: a reader learns the subject of the comment only later, or from the code below. */
const openers = new RegExp(
  "^(What|Whether|How|Why|Which|Who|Whose|Whoever|Nobody|Where|When|It|They|This|That|Its|Their|These|Those)\\b",
);

/** First lines of a module's comments, by their line; consecutive line comments are one comment. */
function openingsOf(text: string): { line: number; opening: string }[] {
  const found: { line: number; opening: string }[] = [];
  let lastEnd = -1;
  for (const { type, value, start, end } of parseSync("module.ts", text, { lang: "ts" }).comments) {
    const continues = type === "Line" && lastEnd >= 0 && /^\n[ \t]*$/.test(text.slice(lastEnd, start));
    lastEnd = type === "Line" ? end : -1;
    if (continues) continue;
    found.push({
      line: text.slice(0, start).split("\n").length,
      opening: value.replace(/^[\s*]+/, "").split("\n")[0] ?? "",
    });
  }
  return found;
}

const unnamed = (text: string) => openingsOf(text).filter(({ opening }) => openers.test(opening));

describe("a comment of the product", () => {
  it("opens with the thing that it describes", () => {
    const found = globSync("src/**/*.ts", { cwd: root }).flatMap((file) =>
      unnamed(readFileSync(join(root, file), "utf8")).map(({ line, opening }) => `${file}:${line}: ${opening}`),
    );
    expect(found).toEqual([]);
  });

  it("counts once as a block, over several lines, after code and as consecutive lines", () => {
    const text = [
      "/** Whether a list is new. */",
      "const a = 1; // When it began.",
      "/**",
      " * Its age.",
      " */",
      "// Age of a list.",
      "// It is in milliseconds.",
      'const b = "// What a text holds";',
      "/** Itself. */",
    ];
    expect(unnamed(text.join("\n")).map(({ line }) => line)).toEqual([1, 2, 3]);
  });
});
