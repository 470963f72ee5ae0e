// `npm run verify:long` runs what takes longer than anybody waits for, one after another, and records each result in
// docs/proof/long-runs.md. A failure does not keep the next from running; the status is 1 if there was one.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { flagsOf, partsOf } from "../support/flags.ts";
import { renewed } from "./page.ts";
import { commandOf, type LongRun, longRuns, wordsOf } from "./runs.ts";

const page = "docs/proof/long-runs.md";
const names = longRuns.map(({ name }) => name).join(", ");
const usage = `Usage: npm run verify:long -- [NAME…]

  NAME   one of ${names} (default: all, in this order)`;

const { positionals } = flagsOf(usage, { allowPositionals: true, options: {} });
const named = partsOf(
  usage,
  positionals,
  longRuns.map(({ name }) => name),
);

for (const run of longRuns) {
  if (!named.includes(run.name)) continue;
  console.log(`\n${run.name}: ${commandOf(run)}`);
  const commit = commitNow();
  const began = performance.now();
  const { passed, said } = await finished(run);
  const minutes = Math.round((performance.now() - began) / 60_000);
  const result = { commit, date: new Date().toISOString().slice(0, 10), minutes, passed, said };
  writeFileSync(page, renewed(readFileSync(page, "utf8"), longRuns, run.name, result));
  if (!passed) process.exitCode = 1;
}

function finished(run: LongRun): Promise<{ passed: boolean; said: string }> {
  const { summary } = run;
  const [command = "", ...words] = wordsOf(run);
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  createInterface({ input: child.stdout }).on("line", (line) => {
    console.log(line);
    said = summary?.exec(line)?.[1] ?? said;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ passed: status === 0, said }));
  });
}

function commitNow(): string {
  const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();
  const changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", `:!${page}`) !== "";
  return `${git("rev-parse", "--short", "HEAD")}${changed ? "+" : ""}`;
}
