import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { runInThisContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { accepts, readAccepted, staleOf } from "./accepted.ts";
import { instrument, type Mutant } from "./instrument.ts";
import { Coverage, programs } from "./plan.ts";
import { summaryOf } from "./report.ts";
import { mutated } from "./types.ts";

/** The mutants of a piece of code, as `CHANGE: ORIGINAL`. */
function mutantsOf(code: string): string[] {
  return instrument("src/a.ts", code, 1).mutants.map(({ what, original }) => `${what}: ${original}`);
}

/** What a function gives with one of its mutants on. */
function run(code: string, what: string, ...args: unknown[]): unknown {
  const { text, mutants } = instrument("src/a.ts", code, 1);
  const on = mutants.find((mutant) => mutant.what === what);
  if (on === undefined) throw new Error(`no mutant "${what}" among ${mutants.map((mutant) => mutant.what).join(", ")}`);
  return functionOf(text, (id) => id === on.id)(...args);
}

/** The function `f` of instrumented code. */
function functionOf(text: string, isOn: (id: number) => boolean): (...args: unknown[]) => unknown {
  const code = stripTypeScriptTypes(text);
  return runInThisContext(`(globalThis) => { ${code}; return f; }`)({ __mutant: isOn });
}

it.each([
  ["function f(a: number) { if (a > 1) return 1; return 2; }", "force true", [0], 1],
  ["function f(a: number) { if (a > 1) return 1; return 2; }", "force false", [5], 2],
  ["function f(a: number) { if (a > 1) return 1; return 2; }", "> → >=", [1], 1],
  ["function f(a: number) { return a === 1; }", "=== → !==", [1], false],
  ["function f(a: boolean, b: boolean) { return a && b; }", "&& → ||", [true, false], true],
  ["function f(a?: number) { return a ?? 1; }", "without ??", [], undefined],
  ["function f(a: boolean) { return !a; }", "without !", [true], true],
  ["function f() { return { a: 1 }; }", "left out", [], {}],
  ["function f(a: object) { return { ...a }; }", "left out", [{ b: 1 }], {}],
  ["function f() { return [1]; }", "return []", [], []],
  ["function f(a: number[]) { a.push(1); return a; }", "left out", [[]], []],
  ["function f(a: number) { return a - 1; }", "- → +", [1], 2],
  ["function f(a: number) { return Math.max(a, 3); }", "max → min", [1], 1],
  ["const f = (a: number) => a;", "return undefined", [1], undefined],
  ["function f(a: number[]) { return a.filter((n) => n > 1); }", "without filter", [[1, 2]], [1, 2]],
  ["function f(a?: { b: number[] }) { return a?.b.length; }", "return undefined", [{ b: [] }], undefined],
  ["function f(a: number) { if (a > 0) throw new Error(); return a; }", "left out", [1], 1],
])("the mutant of %s gives its own result: %s", (code, what, args, result) => {
  expect(run(code, what, ...args)).toEqual(result);
});

it("a mutant that is not on changes nothing", () => {
  const code = "function f(a) { const { b = 1 } = a; return [...(b > 1 ? [b] : []), { b, c: !b }].at(-1); }";
  const f = functionOf(instrument("src/a.ts", code, 1).text, () => false);
  expect(f({ b: 2 })).toEqual({ b: 2, c: false });
});

it("a type, an import, a string, and what is written to the log have no mutant", () => {
  expect(mutantsOf('import a from "b"; type T = { c: true }; const d = "e";')).toEqual([]);
  expect(mutantsOf("function f() { this.#options.log.warn({ a: !b }, c); }")).toEqual([]);
});

it("a mutant is distinguished from others like it by what encloses it and by its number there", () => {
  const { mutants } = instrument("src/a.ts", "class A { #b() { c(); c(); } d() { c(); } }", 7);
  expect(mutants.map(({ id, within, occurrence }) => [id, within, occurrence])).toEqual([
    [7, "A.#b", 1],
    [8, "A.#b", 2],
    [9, "A.d", 1],
  ]);
});

it("all of the operator, the CLI and the service is mutated, and judged by tests of its own", () => {
  const covered = new Set(sourceFiles);
  const others = globSync("src/**/*.ts").filter((file) => !covered.has(file));
  expect(
    others.filter((file) => !/^src\/api\/|^src\/(main|command-line|service\/http\/public-operations)\.ts$/.test(file)),
  ).toEqual([]);
  expect(covered.size).toBeGreaterThan(350);
  const judges = new Map(programs().map(({ name, tests }) => [name, tests]));
  expect(judges.get("service")).toContain("test/service/computes/meter.test.ts");
  expect(judges.get("operator")).toContain("test/operator/flags.test.ts");
});
const sourceFiles = programs().flatMap(({ sources }) => sources);

it("every source that is mutated still parses with all its mutants", () => {
  for (const file of sourceFiles) {
    const { text, mutants } = instrument(file, readFileSync(file, "utf8"), 1);
    expect(() => ({ file, code: stripTypeScriptTypes(text) })).not.toThrow();
    const names = mutants.map((mutant) => JSON.stringify({ ...mutant, id: 0, line: 0 }));
    expect([file, new Set(names).size]).toEqual([file, names.length]);
  }
});

it.each([
  ["f({ a: 1, b: 2 });", "a: 1", "left out", "f({  b: 2 });"],
  ["f({ a, ...b });", "...b", "left out", "f({ a,  });"],
  ["f([a, b]);", "a", "left out", "f([ b]);"],
  ["if (a) throw b;", "throw b;", "left out", "if (a) {}"],
  ["const f = (a: number) => a + 1;", "a + 1", "return undefined", "const f = (a: number) => (undefined);"],
])("the compiler is shown %s without a switch: %s: %s", (code, original, what, result) => {
  const { mutants } = instrument("src/a.ts", code, 1);
  const found = mutants.filter((mutant) => mutant.original === original && mutant.what === what);
  expect(found.map((mutant) => mutated(code, mutant))).toEqual([result]);
});

describe("an accepted survivor", () => {
  const place = { start: 0, end: 0, code: "" };
  const mutant: Mutant = {
    id: 1,
    file: "a",
    line: 9,
    within: "F",
    original: "x()",
    what: "left out",
    occurrence: 2,
    ...place,
  };
  const entry = { file: "a", within: "F", original: "x()", what: ["left out"], because: "it changes nothing" };

  it("an accepted survivor is found wherever its line is, and one of several alike by its number", () => {
    expect(accepts(entry, mutant)).toBe(true);
    expect(accepts({ ...entry, occurrence: 1 }, mutant)).toBe(false);
    expect(accepts({ ...entry, within: "G" }, mutant)).toBe(false);
  });

  it("may stand for all of a folder, and for all code of a pattern", () => {
    const folder = { file: "src/a/", original: "/^x\\(/", what: "left out", because: "it changes nothing" };
    expect(accepts(folder, { ...mutant, file: "src/a/b.ts" })).toBe(true);
    expect(accepts(folder, { ...mutant, file: "src/b/a.ts" })).toBe(false);
    expect(accepts(folder, { ...mutant, file: "src/a/b.ts", original: "y(x())" })).toBe(false);
  });

  it("an accepted survivor that is caught by now, or fits nothing any more, is stale", () => {
    expect(staleOf([entry], [mutant], () => false)).toEqual([]);
    expect(staleOf([entry], [mutant], () => true)).toEqual([entry]);
    expect(staleOf([{ ...entry, file: "b" }], [mutant], () => false)).toHaveLength(1);
  });

  it("an accepted survivor has its reason in the list", () => {
    expect(readAccepted().every(({ because }) => because.length > 10)).toBe(true);
  });
});

it("the result is summed up in one line", () => {
  const { mutants } = instrument("src/a.ts", "a(); b();", 1);
  const verdicts = new Map(mutants.map((mutant, index) => [mutant, index === 0 ? caught : survived] as const));
  expect(summaryOf(verdicts, 1)).toBe("mutants: 1 of 2 caught (50.0 %), 1 survivors without a reason");
});
const caught = { outcome: "caught" } as const;
const survived = { outcome: "survived" } as const;
const measured = { ms: 1, wallMs: 1, reached: [], calls: 1 };

it("the tests of a source's room come before quicker ones, which may use up the time", () => {
  const { mutants } = instrument("src/service/http/body.ts", "a();", 1);
  const [mutant] = mutants;
  if (mutant === undefined) throw new Error("the code has no mutant");
  const of = (file: string, ms: number) => ({
    file,
    tests: [{ ...measured, index: 0, name: "one", ms, reached: [mutant.id] }],
    atLoad: [],
  });
  const files = [
    of("test/service/quick.test.ts", 30),
    of("test/service/http.body.test.ts", 60),
    of("test/service/http/body.test.ts", 50),
  ];
  const coverage = new Coverage(mutants, files);
  const room = ["test/service/http/body.test.ts", "test/service/http.body.test.ts"];
  expect(coverage.trialsFor(mutant, 120).map(({ file }) => file)).toEqual(room);
});

it("all tests that are named after a source come before quicker ones of its room", () => {
  const { mutants } = instrument("src/service/postgres/driver/queries.ts", "a();", 1);
  const [mutant] = mutants;
  if (mutant === undefined) throw new Error("the code has no mutant");
  const of = (file: string, ms: number) => ({
    file,
    tests: [0, 1, 2].map((index) => ({ ...measured, index, name: String(index), ms, reached: [mutant.id] })),
    atLoad: [],
  });
  const own = "test/service/postgres/driver.queries.test.ts";
  const coverage = new Coverage(mutants, [of("test/service/postgres/driver.frames.test.ts", 30), of(own, 100)]);
  expect(coverage.trialsFor(mutant, 300).map(({ file }) => file)).toEqual([own, own, own]);
});

it("a table that no test reaches while it runs is tried by the tests that are named after its file or its folder", () => {
  const { mutants } = instrument("src/service/domain/regions.ts", "a();", 1);
  const [mutant] = mutants;
  if (mutant === undefined) throw new Error("the code has no mutant");
  const of = (file: string) => ({ file, tests: [{ ...measured, index: 0, name: "one" }], atLoad: [mutant.id] });
  const files = [of("test/service/domain/regions.test.ts"), of("test/service/domain/projects.test.ts")];
  const coverage = new Coverage(mutants, files);
  expect([coverage.isReachedAtLoad(mutant), coverage.trialsFor(mutant, 100)]).toEqual([true, []]);
  expect(coverage.trialsForFile(mutant, 100)).toMatchObject([{ file: "test/service/domain/regions.test.ts" }]);
  const ofFolder = new Coverage(mutants, [of("test/service/domain.test.ts"), of("test/service/domain.other.test.ts")]);
  expect(ofFolder.trialsForFile(mutant, 100)).toMatchObject([{ file: "test/service/domain.test.ts" }]);
});

it("npm run mutants refuses flags that it does not know, and lists the mutants of a file", () => {
  const main = (...args: string[]) =>
    spawnSync(process.execPath, ["test/mutants/main.ts", ...args], { encoding: "utf8" });
  expect(main("--onyl", "a").stderr).toContain("Usage: npm run mutants");
  const listed = main("--list", "--only", "runtime/caches.ts");
  expect(listed.stdout).toContain("src/operator/runtime/caches.ts:");
  expect(listed.status).toBe(0);
});
