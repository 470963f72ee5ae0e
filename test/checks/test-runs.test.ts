import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import config from "../../vitest.config.ts";
import { longRuns } from "../long/runs.ts";

const Projects = z.array(
  z.object({
    test: z.object({ name: z.string(), include: z.array(z.string()), exclude: z.array(z.string()).optional() }),
  }),
);
const Package = z.object({ scripts: z.record(z.string(), z.string()) });

const projects = Projects.parse(config.test?.projects).map(({ test }) => test);
const { scripts } = Package.parse(JSON.parse(readFileSync("package.json", "utf8")));

/** The projects of vitest.config.ts that an npm script runs. */
function projectsOf(script: string): string[] {
  const named = [...(scripts[script] ?? "").matchAll(/--project '?([\w*-]+)'?/g)].map(([, name = ""]) => name);
  const matches = (name: string, pattern: string) => new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(name);
  return projects.map(({ name }) => name).filter((name) => named.some((pattern) => matches(name, pattern)));
}

const filesOf = (script: string) =>
  projects
    .filter(({ name }) => projectsOf(script).includes(name))
    .flatMap(({ include, exclude = [] }) => globSync(include, { exclude }));

describe("no test is lost between the runs", () => {
  it("every file that declares a test belongs to exactly one project of `npm test` or `npm run verify`", () => {
    // Files that never end are run by a test, each in a run of its own.
    const exclude = ["node_modules/**", "dist/**", "test/support/progress-watch/*.stuck.ts"];
    const sources = globSync("**/*.{ts,mts,js,mjs,tsx}", { exclude }).map((file) => ({
      file,
      text: readFileSync(file, "utf8"),
    }));
    const imported = new Set(
      sources.flatMap(({ file, text }) =>
        [...text.matchAll(/\bfrom "(\.[^"]+)"/g)].map(([, target = ""]) => join(dirname(file), target)),
      ),
    );
    // A file that another imports is a part of its suite.
    const declaring = sources
      .filter(({ text }) => /^import .*\b(it|test)\b.* from "vitest";$/m.test(text))
      .map(({ file }) => file)
      .filter((file) => !imported.has(file));
    expect(declaring.length).toBeGreaterThan(150);
    const run = [...filesOf("test"), ...filesOf("verify")].toSorted();
    expect(run).toEqual([...new Set([...run, ...declaring])].toSorted());
  });

  it("the name of a file says in which of the two it is", () => {
    expect(filesOf("test").filter((file) => file.includes(".verify."))).toEqual([]);
    expect(filesOf("verify").filter((file) => !file.includes(".verify."))).toEqual([]);
  });

  it("every project belongs to one of the two", () => {
    const inAll = [...projectsOf("test"), ...projectsOf("verify")];
    expect(inAll.toSorted()).toEqual(projects.map(({ name }) => name).toSorted());
  });

  it(".ci/run runs both", () => {
    const commands = readFileSync(".ci/run", "utf8").match(/^count .*$/gm);
    expect(commands).toEqual(["count npm test", "count npm run verify"]);
  });

  it("`npm run verify:long` runs npm scripts that exist, and every one that tries for long whether a promise holds", () => {
    const long = new Set(longRuns.flatMap(({ script }) => script ?? []));
    expect([...long].filter((script) => !(script in scripts))).toEqual([]);
    expect(["bench", "chaos", "mutants", "simulate", "soak"].filter((script) => !long.has(script))).toEqual([]);
    const programs = longRuns.flatMap(({ program }) => program ?? []);
    expect(programs.filter((program) => !existsSync(program))).toEqual([]);
  });
});

describe("the npm scripts", () => {
  it("the scripts are at most twenty, and none runs before another without being named in it, but for npm's own prepack", () => {
    const names = Object.keys(scripts);
    expect(names.length).toBeLessThanOrEqual(20);
    expect(names.filter((name) => /^(pre|post)/.test(name))).toEqual(["prepack"]);
  });

  it("scripts that run a program prepare a fresh clone first, and then name Node 24 by its path", () => {
    // The shell that ran setup.mjs has looked `node` up by then, and would take the machine's own again.
    const programs = Object.values(scripts).filter((line) => line.includes("/main.ts") || line.includes("generate.ts"));
    expect(programs.length).toBeGreaterThan(7);
    for (const line of programs)
      expect(line).toMatch(/^node scripts\/setup\.mjs && exec node_modules\/\.bin\/node \S+\.ts$/);
  });
});
