import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, test, vi } from "vitest";
import { flagsOf, partsOf, shardOf, wholeNumber } from "./flags.ts";

const root = join(import.meta.dirname, "..", "..");
const usage = "Usage: npm run odd -- [flags]";

afterEach(() => vi.restoreAllMocks());

/** What a program prints to standard error before it ends with status 1. */
function refusal(read: () => unknown): string {
  const printed: string[] = [];
  vi.spyOn(console, "error").mockImplementation((text: string) => void printed.push(text));
  vi.spyOn(process, "exit").mockImplementation((status) => {
    throw new Error(`status ${status}`);
  });
  expect(read).toThrow("status 1");
  return printed.join("\n");
}

const read = (...args: string[]) =>
  flagsOf(usage, { args, options: { seed: { type: "string" } }, allowPositionals: false }).values;

it.each<[string, () => unknown, string]>([
  [
    "a number in words",
    () => wholeNumber(usage, "--seed", "abc", 1),
    '--seed must be a whole number from 1 on, not "abc"',
  ],
  ["a number below the least", () => wholeNumber(usage, "--seeds", "0", 1), "--seeds must be a whole number from 1 on"],
  ["a negative number", () => wholeNumber(usage, "--computes", "-1", 1), "--computes must be"],
  ["an empty value", () => wholeNumber(usage, "--seed", "", 1), "--seed must be"],
  ["a flag that it does not know", () => read("--sed", "3"), "Unknown option '--sed'"],
  ["a flag without its value", () => read("--seed"), "--seed"],
  ["a word that belongs to no flag", () => read("operater"), "operater"],
  ["a part that it does not have", () => partsOf(usage, ["operater"], ["operator"]), "There is no operater."],
  ["a part beyond the last", () => shardOf(usage, "9/8"), '--shard must be K/N, the Kth of N parts, not "9/8"'],
  ["a part before the first", () => shardOf(usage, "0/8"), "--shard must be"],
])("a program does not begin with %s", (_, wrong, message) => {
  const said = refusal(wrong);
  expect(said).toContain(message);
  expect(said).toContain(usage);
});

test("right flags are taken", () => {
  expect(read("--seed", "7")).toEqual({ seed: "7" });
  expect(wholeNumber(usage, "--seed", "7", 1)).toBe(7);
  expect(partsOf(usage, ["b"], ["a", "b"])).toEqual(["b"]);
  expect(partsOf(usage, [], ["a", "b"])).toEqual(["a", "b"]);
  expect(shardOf(usage, "2/8")).toEqual({ part: 2, parts: 8 });
});

test("the programs that try for an hour whether a promise holds take their flags from here alone", () => {
  const programs = globSync("test/{simulation,soak,chaos,mutants,bench/scale}/**/{main,simulate}.ts", { cwd: root });
  const texts = programs.map((file) => [file, readFileSync(join(root, file), "utf8")] as const);
  const reading = texts.filter(([, text]) => /\bflagsOf\(/.test(text));
  expect(reading.length).toBeGreaterThanOrEqual(6);
  // What becomes a number is checked: `Number(values.seed)` of nonsense would be NaN, and prove nothing.
  const unchecked = reading.filter(([, text]) => /\b(Number|parseInt|parseFloat)\(values\b|\bparseArgs\(/.test(text));
  expect(unchecked.map(([file]) => file)).toEqual([]);
});

test("a program that is started with nonsense ends with status 1 and its usage", () => {
  const { status, stderr } = spawnSync(process.execPath, ["test/simulation/simulate.ts", "--seed", "abc"], {
    encoding: "utf8",
  });
  expect(stderr).toContain("--seed must be a whole number from 1 on, not ");
  expect(stderr).toContain("Usage: npm run simulate");
  expect(status).toBe(1);
});

test.each(["demo", "simulate", "chaos", "soak", "bench", "mutants", "generate", "verify:long", "release"])(
  "npm run %s -- --help shows how it is used, and starts nothing",
  (name) => {
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const program = /node (\S+\.ts)$/.exec(scripts[name])?.[1] ?? "";
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, "--help"], {
      cwd: root,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain(`npm run ${name}`);
    expect(stdout.split("\n").length).toBeLessThan(40);
  },
);
