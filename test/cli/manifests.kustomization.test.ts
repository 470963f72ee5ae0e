import { mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemPrograms } from "../../src/cli/commands/programs.ts";
import { Stage } from "./command-stage.ts";
import { compute, connection, documents } from "./texts.ts";

const made = documents(connection, compute("a"));

/** A program that builds what the manifests say, and nothing else. */
const building = (verb: string) => (args: readonly string[]) =>
  args[0] === verb && args[1] === "overlays/prod"
    ? { status: 0, stdout: made, stderr: "" }
    : { status: 1, stdout: "", stderr: `Error: unable to find one of 'kustomization.yaml' in '${args[1]}'\n` };

test.each([
  ["kustomize", "build"],
  ["kubectl", "kustomize"],
])("-k plans what %s %s makes", async (program, verb) => {
  using stage = new Stage();
  stage.programs = { [program]: building(verb) };
  const run = await stage.run("plan", ["-k", "overlays/prod"]);
  expect(run).toMatchObject({ status: 2, err: "", out: expect.stringContaining("Plan: 1 to create.") });
  const failed = await stage.run("plan", ["-k", "base"]);
  expect(failed).toMatchObject({ status: 1, out: "" });
  expect(failed.err).toBe(
    `compute-operator plan: -k base: ${program} ${verb} ends with status 1: Error: unable to find one of 'kustomization.yaml' in 'base'`,
  );
});

test("kustomize itself comes before the one in kubectl", async () => {
  using stage = new Stage();
  stage.programs = { kustomize: building("build"), kubectl: () => ({ status: 1, stdout: "", stderr: "old" }) };
  expect((await stage.run("apply", ["-k", "overlays/prod", "--yes"])).status).toBe(0);
});

test("without both it says what to install, or what to do instead", async () => {
  using stage = new Stage();
  const run = await stage.run("plan", ["-k", "overlays/prod"]);
  expect(run).toMatchObject({ status: 1, out: "" });
  expect(run.err).toContain("built by kustomize or kubectl, and neither is on the PATH");
  expect(run.err).toContain("hand it over with -f -");
});

test("a mistake in what was built is reported with the command that shows the line", async () => {
  using stage = new Stage();
  stage.programs = { kubectl: () => ({ status: 0, stdout: compute("a", "typ: x"), stderr: "" }) };
  const run = await stage.run("plan", ["-k", "overlays/prod"]);
  expect(run.err).toContain("kubectl kustomize overlays/prod:4: Compute shop/a: spec.typ: unknown field");
});

test("-f says of a directory that it holds a kustomization, and reads its files", async () => {
  using stage = new Stage();
  stage.file("base/kustomization.yaml", "resources: [a.yaml]\n");
  stage.file("base/a.yaml", made);
  stage.file("overlays/prod/kustomization.yml", "resources: [../../base]\n");
  const run = await stage.run("plan", ["-f", `${stage.directory}/base`]);
  expect(run.status).toBe(2);
  expect(run.err).toMatch(/base holds a kustomization, and -f reads the files .*: -k \S*base plans what it makes$/);
  const empty = await stage.run("plan", ["-f", `${stage.directory}/overlays`]);
  expect(empty.err).toMatch(/-k \S*prod plans what it makes\n.*no Compute, ComputePool or Branch in /);
  const all = await stage.run("plan", ["-f", stage.directory]);
  expect(all.err).toMatch(/base, \S*overlays\/prod hold kustomizations/);
});

test("a directory without one, and a file, are read without a word", async () => {
  using stage = new Stage();
  const path = stage.file("all/a.yaml", made);
  expect((await stage.run("plan", ["-f", `${stage.directory}/all`])).err).toBe("");
  expect((await stage.run("plan", ["-f", path])).err).toBe("");
});

test("-f and -k exclude each other", async () => {
  using stage = new Stage();
  const run = await stage.run("plan", ["-f", "a.yaml", "-k", "overlays/prod"]);
  expect(run).toMatchObject({ status: 1, err: expect.stringContaining("-f and -k exclude each other") });
});

test("a program that is not on the PATH is told from one that fails", async () => {
  using stage = new Stage();
  const bin = mkdtempSync(join(stage.directory, "bin-"));
  mkdirSync(join(bin, "none"));
  symlinkSync("/bin/sh", join(bin, "shell"));
  const programs = systemPrograms({ PATH: bin });
  expect(await programs.run("kustomize", [])).toBeUndefined();
  const ended = await programs.run("shell", ["-c", "echo out; echo err >&2; exit 3"]);
  expect(ended).toEqual({ status: 3, stdout: "out\n", stderr: "err\n" });
  expect(await programs.handOver("psql", [], {})).toBeUndefined();
  expect(await programs.handOver("shell", ["-c", 'exit "$CODE"'], { CODE: "4" })).toBe(4);
});
