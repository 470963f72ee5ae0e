import { describe, expect, it } from "vitest";
import { z } from "zod";
import { BadFlag, flag, newCommand, parsed, repeatable, whole, withFlags } from "../src/command-line.ts";

const command = newCommand("bake", "Bakes.", { more: "Mind the oven." })
  .addOption(repeatable("-f, --filename <PATH>", "a recipe").default(["usual"]))
  .addOption(flag("--loaves <N>", "how many", whole(1, 9)).default(2))
  .option("--fast", "in less time", false);

const shape = { filename: z.array(z.string()), loaves: z.number(), fast: z.boolean() };
const read = (...args: string[]) => parsed(command, args, shape, "recipes are named with -f");

async function run(...args: string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const ports = { stdout: (text: string) => void out.push(text), stderr: (text: string) => void err.push(text) };
  const status = await withFlags(
    command,
    (words) => read(...words),
    args,
    ports,
    () => Promise.resolve(7),
  );
  return { status, out: out.join("\n"), err: err.join("\n") };
}

describe("a command line", () => {
  it("a command line has each flag's default again each time it is read", () => {
    expect(read("-f", "a", "--filename=b", "--loaves", "3", "--fast")).toEqual({
      filename: ["a", "b"],
      loaves: 3,
      fast: true,
    });
    expect(read()).toEqual({ filename: ["usual"], loaves: 2, fast: false });
  });

  it("fails where its flags and the shape of their values differ", () => {
    const { fast: _, ...others } = shape;
    expect(() => parsed(command, [], others)).toThrow('Unrecognized key: \\"fast\\"');
    expect(() => parsed(command, [], { ...shape, loaves: z.string() })).toThrow("expected string");
  });

  it.each([["-h"], ["--help"]])("with %s prints help, made from the flags, and runs nothing", async (asked) => {
    const help = `Usage: compute-operator bake [flags]

Bakes.

Flags:
  -f, --filename PATH  a recipe; repeatable (default usual)
  --loaves N           how many (default 2)
  --fast               in less time
  -h, --help           show this

Mind the oven.`;
    expect(await run(asked)).toEqual({ status: 0, out: help, err: "" });
  });

  it("runs the command, whose exit status it answers, and says of wrong flags what is wrong and where the help is", async () => {
    expect(await run("--loaves", "9")).toEqual({ status: 7, out: "", err: "" });
    const { status, out, err } = await run("--loaves", "0");
    expect([status, out]).toEqual([1, ""]);
    expect(err).toBe(
      `compute-operator bake: --loaves must be a whole number from 1 to 9, not "0"\nSee compute-operator bake --help.`,
    );
  });

  it.each<[string, string[], string]>([
    ["an unknown flag", ["--laoves", "1"], "unknown option '--laoves'\n(Did you mean --loaves?)"],
    ["a value to a flag that takes none", ["--fast=yes"], "unknown option '--fast=yes'"],
    ["no value at the end", ["--loaves"], "option '--loaves <N>' argument missing"],
    [
      "a flag where a value belongs",
      ["-f", "--fast"],
      "-f needs a value. Write one that begins with a dash as --filename=--fast",
    ],
    ["a word without a flag", ["rye", "--fast"], "'rye' belongs to no flag: recipes are named with -f"],
    ["a word after --", ["--", "--fast"], "'--fast' belongs to no flag: recipes are named with -f"],
  ])("refuses %s", (_, args, message) => {
    expect(() => read(...args)).toThrow(new BadFlag(message));
  });

  it("takes a dash alone, and after = whatever stands there", () => {
    expect(read("-f", "-", "--filename=--fast")).toMatchObject({ filename: ["-", "--fast"], fast: false });
  });
});
