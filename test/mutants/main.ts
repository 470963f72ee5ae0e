// `npm run mutants` changes the code of the operator, the CLI and the service in every small way that may be a mistake,
// one at a time, and runs the tests that reach the change: one of them has to fail.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { flagsOf, shardOf, wholeNumber } from "../support/flags.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import { accepts, readAccepted, staleOf } from "./accepted.ts";
import { instrument, type Mutant } from "./instrument.ts";
import { Coverage, type Part, programs } from "./plan.ts";
import { Records, remembered } from "./records.ts";
import { roomLines, summaryOf, survivorLine } from "./report.ts";
import { measureAll, Trials, type Verdict } from "./trial.ts";
import { refusedByTypes } from "./types.ts";

const usage = `Usage: npm run mutants -- [flags]

Changes the code of src/operator, src/cli and src/service in every small way and runs the tests that reach the change. Without --only,
--since and --shard it is a full run, which also names what is stale in test/mutants/accepted.

  --only PATH       mutants of the files whose path has this
  --since REV       mutants of the lines changed since this revision
  --shard K/N       the Kth of N parts
  --resume          mutants caught by an earlier run, in files that have not changed since, count as caught
  --patience MS     how long the tests of one mutant may take in all, as measured without it (default 4000)
  --workers N       how many processes (default: all cores)
  --list            only says which there are`;

const { values } = flagsOf(usage, {
  options: {
    only: { type: "string" },
    since: { type: "string" },
    shard: { type: "string", default: "1/1" },
    resume: { type: "boolean", default: false },
    patience: { type: "string", default: "4000" },
    workers: { type: "string", default: String(availableParallelism()) },
    list: { type: "boolean", default: false },
  },
});
const workers = wholeNumber(usage, "--workers", values.workers, 1);
const patienceMs = wholeNumber(usage, "--patience", values.patience, 1);

const all: Mutant[] = [];
const hashes = new Map<string, string>();
const sources = new Map<string, string>();
/** The code of each program, with all its mutants in it. */
const mutatedPrograms = programs().map((part) => ({ ...part, code: instrumented(part) }));
const wanted = selected(all);
if (values.list) {
  for (const mutant of wanted) console.log(survivorLine(mutant));
  console.log(`${wanted.length} of ${all.length} mutants`);
} else {
  process.exitCode = await run();
}

function instrumented(part: Part): Record<string, string> {
  const code: Record<string, string> = {};
  for (const file of part.sources) {
    const source = readFileSync(file, "utf8");
    sources.set(file, source);
    hashes.set(file, createHash("sha256").update(source).digest("hex").slice(0, 16));
    const { text, mutants } = instrument(file, source, all.length + 1);
    code[file] = stripTypeScriptTypes(text);
    all.push(...mutants);
  }
  return code;
}

async function run(): Promise<number> {
  const verdicts = new Map<Mutant, Verdict>();
  for (const part of mutatedPrograms)
    for (const [mutant, verdict] of await runPart(part)) verdicts.set(mutant, verdict);
  return conclude(verdicts);
}

/** Tries the wanted mutants of one program. */
async function runPart({ code, ...part }: (typeof mutatedPrograms)[number]): Promise<Map<Mutant, Verdict>> {
  const mutants = wanted.filter(({ file }) => file in code);
  if (mutants.length === 0) return new Map();
  const directory = temporaryDirectory("mutants");
  const sourcesFile = join(directory.path, "sources.json");
  writeFileSync(sourcesFile, JSON.stringify(code));
  try {
    const measured = await remembered(part, (files) => {
      say(`measuring which tests of ${files.length} files reach which mutants of the ${part.name}`);
      return measureAll(sourcesFile, files, workers, say);
    });
    return await tryAll(mutants, sourcesFile, new Coverage(all, measured));
  } finally {
    directory.remove();
  }
}

async function tryAll(
  mutants: readonly Mutant[],
  sourcesFile: string,
  coverage: Coverage,
): Promise<Map<Mutant, Verdict>> {
  const records = new Records(hashes);
  const verdicts = new Map<Mutant, Verdict>();
  const waiting = mutants.filter((mutant) => {
    const known = records.of(mutant);
    if (!values.resume || known?.outcome !== "caught") return true;
    verdicts.set(mutant, known);
    return false;
  });
  say(`trying ${waiting.length} mutants, ${verdicts.size} are known to be caught`);
  const began = performance.now();
  let saidAt = began;
  const total = waiting.length;
  const work = async () => {
    const trials = new Trials(sourcesFile, coverage, patienceMs);
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const verdict = await trials.try(mutant);
      verdicts.set(mutant, verdict);
      records.add(mutant, verdict);
      if (performance.now() - saidAt < 15_000) continue;
      saidAt = performance.now();
      const done = total - waiting.length;
      say(`${done} of ${total} in ${Math.round((saidAt - began) / 1000)} s`);
    }
    trials.end();
  };
  await Promise.all(Array.from({ length: workers }, work));
  const left = [...verdicts].filter(([, { outcome }]) => outcome !== "caught").map(([mutant]) => mutant);
  say(`asking the compiler about ${left.length} that no test caught`);
  for (const mutant of refusedByTypes(left, sources)) {
    const verdict = { outcome: "caught", by: "the compiler" } as const;
    verdicts.set(mutant, verdict);
    records.add(mutant, verdict);
  }
  return verdicts;
}

function conclude(verdicts: ReadonlyMap<Mutant, Verdict>): number {
  const accepted = readAccepted();
  const isCaught = (mutant: Mutant) => verdicts.get(mutant)?.outcome === "caught";
  const isFull = verdicts.size === all.length;
  for (const { file, within, original, what } of isFull ? staleOf(accepted, all, isCaught) : [])
    console.log(`stale in test/mutants/accepted: ${file} ${within ?? ""}: ${original}: ${String(what)}`);
  const open = [...verdicts.keys()].filter(
    (mutant) => !isCaught(mutant) && !accepted.some((entry) => accepts(entry, mutant)),
  );
  for (const mutant of open) console.log(`${verdicts.get(mutant)?.outcome}: ${survivorLine(mutant)}`);
  for (const line of roomLines(verdicts)) console.log(line);
  console.log(summaryOf(verdicts, open.length));
  return open.length === 0 ? 0 : 1;
}

function selected(mutants: readonly Mutant[]): Mutant[] {
  const { part, parts } = shardOf(usage, values.shard);
  const changed = values.since === undefined ? undefined : changedLines(values.since);
  return mutants.filter(
    ({ id, file, line }) =>
      (values.only === undefined || file.includes(values.only)) &&
      (changed === undefined || changed.has(`${file}:${line}`)) &&
      id % parts === part % parts,
  );
}

/** The lines that differ from a revision, as `FILE:LINE`. */
function changedLines(revision: string): Set<string> {
  const diff = execFileSync("git", ["diff", "--unified=0", revision, "--", "src"], { encoding: "utf8" });
  const lines = new Set<string>();
  let file = "";
  for (const text of diff.split("\n")) {
    file = /^\+\+\+ b\/(.*)/.exec(text)?.[1] ?? file;
    const [, start = "", count = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(text) ?? [];
    if (start !== "") for (let line = 0; line < Number(count); line++) lines.add(`${file}:${Number(start) + line}`);
  }
  return lines;
}

function say(line: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)}  ${line}`);
}
