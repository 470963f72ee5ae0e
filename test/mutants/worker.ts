// A process that runs tests of many files with one mutant after another; main.ts starts it and tells it what to do.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { z } from "zod";
import { type Measured, type Reply, Request, type TestId } from "./messages.ts";
import { seedsFile } from "./plan.ts";

const root = join(import.meta.dirname, "..", "..");
const fake = pathToFileURL(join(import.meta.dirname, "fake-vitest.ts")).href;
const [sourcesFile = "", fixed = "0"] = process.argv.slice(2);
const sources = new Map(
  Object.entries(z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(sourcesFile, "utf8")))).map(
    ([file, code]) => [pathToFileURL(join(root, file)).href, code],
  ),
);

/** The mutant that is on; 0 for none. */
let active = Number(fixed);
let reached = new Set<number>();
let calls = 0;
let mostCalls = Number.POSITIVE_INFINITY;
let isMeasuring = false;

Object.defineProperty(globalThis, "__mutant", {
  value: (id: number): boolean => {
    calls += 1;
    if (calls > mostCalls) throw new Error("the code goes round in circles");
    if (isMeasuring) reached.add(id);
    return id === active;
  },
});

registerHooks({
  resolve(specifier, context, next) {
    return specifier === "vitest" && context.parentURL !== fake
      ? { url: fake, shortCircuit: true }
      : next(specifier, context);
  },
  load(url, context, next) {
    const source = sources.get(url);
    return source === undefined ? next(url, context) : { format: "module", source, shortCircuit: true };
  },
});

const { collect, endSuites, runTest, test } = await import("./fake-vitest.ts");
type Tests = Awaited<ReturnType<typeof collect>>;

/** Errors that nobody awaited. */
let strays: unknown[] = [];
process.on("unhandledRejection", (error) => strays.push(error));
process.on("uncaughtException", (error) => strays.push(error));

const files = new Map<string, Promise<Tests>>();

function testsOf(file: string): Promise<Tests> {
  const known = files.get(file);
  if (known !== undefined) return known;
  const tests = collect(join(root, file), () =>
    file === seedsFile ? declareSeeds() : import(pathToFileURL(join(root, file)).href),
  );
  files.set(file, tests);
  return tests;
}

/** Runs of the simulation are tests too. */
async function declareSeeds(): Promise<void> {
  const { play } = await import("../simulation/world/run.ts");
  const { scriptOf } = await import("../simulation/world/script.ts");
  for (let seed = 1; seed <= 20; seed++) {
    test(`seed ${seed}`, async () => {
      const [first] = (await play(scriptOf(seed))).violations;
      if (first !== undefined) throw new Error(`${first.promise}: ${first.message}`);
    });
  }
}

async function failureOf(one: Tests[number], limitMs: number): Promise<string | undefined> {
  strays = [];
  try {
    try {
      await runTest(one, limitMs);
    } finally {
      await endSuites([one]);
    }
    await new Promise((resolve) => setImmediate(resolve));
    return strays.length === 0 ? undefined : `unhandled: ${messageOf(strays[0])}`;
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return line.slice(0, 200) || "failed";
}

/** A test that takes longer is measured only once. */
const slowMs = 1000;

async function measure(file: string): Promise<Reply> {
  isMeasuring = true;
  reached = new Set();
  let tests: Tests;
  try {
    tests = await testsOf(file);
  } catch (error) {
    return { kind: "measured", tests: [], atLoad: [], failure: messageOf(error) };
  }
  const atLoad = [...reached];
  const measured: Measured[] = [];
  for (const [index, one] of tests.entries()) {
    const runs = [];
    // What passes only once, because it leaves something behind, cannot be run again and again.
    for (let run = 0; run < 2 && (runs[0]?.ms ?? 0) < slowMs; run++) {
      reached = new Set();
      calls = 0;
      const [began, used] = [performance.now(), process.cpuUsage()];
      const failure = await failureOf(one, 120_000);
      const { user, system } = process.cpuUsage(used);
      const [ms, wallMs] = [(user + system) / 1000, performance.now() - began];
      runs.push({
        index,
        name: one.name,
        ms,
        wallMs,
        ...(failure !== undefined && { failure }),
        reached: [...reached],
        calls,
      });
      if (failure !== undefined) break;
    }
    const [first, last] = [runs[0], runs.at(-1)];
    if (first !== undefined && last !== undefined) {
      measured.push({
        ...last,
        ms: Math.min(first.ms, last.ms),
        reached: [...new Set([...first.reached, ...last.reached])],
      });
    }
    alive();
  }
  isMeasuring = false;
  return { kind: "measured", tests: measured, atLoad };
}

type Trial = TestId & { limitMs: number; calls: number };

async function tryMutant(mutant: number, trials: readonly Trial[]): Promise<Reply> {
  for (const trial of trials) {
    const one = (await testsOf(trial.file))[trial.index];
    if (one === undefined) throw new Error(`${trial.file} has no test ${trial.index}`);
    alive();
    const how = await underMutant(mutant, one, trial);
    if (how === undefined) continue;
    const { file, index } = trial;
    const spoilt = fixed === "0" && (await isSpoilt(one, trial));
    return { kind: "tried", caught: { file, index, name: one.name, how }, spoilt };
  }
  return { kind: "tried", spoilt: false };
}

async function underMutant(mutant: number, one: Tests[number], { limitMs, calls: usual }: Trial) {
  active = mutant;
  calls = 0;
  mostCalls = usual * 50 + 200_000;
  const how = await failureOf(one, limitMs);
  mostCalls = Number.POSITIVE_INFINITY;
  if (fixed === "0") active = 0;
  return how;
}

/** Whether the test now fails without any mutant. */
async function isSpoilt(one: Tests[number], { limitMs }: Trial): Promise<boolean> {
  const how = await failureOf(one, limitMs);
  return how !== undefined;
}

let saidAt = 0;
function alive(): void {
  if (performance.now() - saidAt < 200) return;
  saidAt = performance.now();
  send({ kind: "alive" });
}

function send(reply: Reply): void {
  process.send?.(reply);
}

process.on("message", (message) => {
  const request = Request.parse(message);
  const work = request.kind === "measure" ? measure(request.file) : tryMutant(request.mutant, request.tests);
  void work.then(send, (error: unknown) => {
    console.error(`${fileURLToPath(import.meta.url)}: ${messageOf(error)}`);
    process.exit(1);
  });
});
send({ kind: "ready" });
