import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { commandsIn, pages, testOf } from "./commands.ts";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));

describe.each([...pages])("%s", (page) => {
  const commands = commandsIn(page);

  it("a page has no command that no test runs", () => {
    expect(commands.filter((command) => testOf(command) === undefined)).toEqual([]);
  });

  it("names tests that exist, and npm scripts that package.json has", () => {
    expect(commands.map(testOf).filter((test) => !existsSync(test ?? ""))).toEqual([]);
    const named = commands.flatMap(({ text }) => /^npm (?:run )?([\w:]+)/.exec(text)?.[1] ?? []);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it("names only flags that the program behind an npm script knows", () => {
    for (const { text } of commands) {
      const [, name = "", flags = ""] = /^npm run ([\w:]+) -- (.*)/.exec(text) ?? [];
      const program = /node (\S+\.ts)$/.exec(scripts[name] ?? "")?.[1];
      const source = program === undefined ? "" : sourceOf(program, flags.split(" ")[0] ?? "");
      for (const [, flag = ""] of flags.matchAll(/--([a-z-]+)/g))
        expect(`${text}: ${source}`).toMatch(new RegExp(`\\b${flag}\\b`));
    }
  });

  it("a page has no block in a language that might hide a command", () => {
    const fences = [...readFileSync(page, "utf8").matchAll(/^```(\w*)\n.*?^```$/gms)];
    const languages = new Set(fences.map(([, language = ""]) => language));
    expect([...languages].filter((language) => !["sh", "console", "sql", "yaml", ""].includes(language))).toEqual([]);
  });
});

it("a command that nobody has thought of is found out", () => {
  const unheard = { page: "docs/install.md", text: "terraform apply", place: "block" } as const;
  expect(testOf(unheard)).toBeUndefined();
  expect(testOf({ ...unheard, text: "npm run unheard" })).toBeUndefined();
  expect(testOf({ ...unheard, text: "kubectl get pods", place: "prompt" })).toBeUndefined();
});

/** The source of a program; of its part with this name, where it has one. */
function sourceOf(program: string, part: string): string {
  const source = readFileSync(program, "utf8");
  const imported = new RegExp(`^ +${part}: \\(\\) => import\\("(.*)"\\)`, "m").exec(source)?.[1];
  return imported === undefined ? source : readFileSync(join(dirname(program), imported), "utf8");
}
