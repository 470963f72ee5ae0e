import { createHash } from "node:crypto";
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Mutant } from "./instrument.ts";
import { Measured } from "./messages.ts";
import type { MeasuredFile, Part } from "./plan.ts";
import type { Verdict } from "./trial.ts";

const directory = ".mutants";
const resultsFile = join(directory, "results.jsonl");

const Line = z.object({
  key: z.string(),
  outcome: z.enum(["caught", "survived", "not reached"]),
  by: z.string().optional(),
});

/** The verdicts so far, in a file, so that a run that was broken off can go on. */
export class Records {
  readonly #hashes: ReadonlyMap<string, string>;
  readonly #known = new Map<string, Verdict>();

  /** `hashes` of the source files: a verdict counts only for the source that it was made on. */
  constructor(hashes: ReadonlyMap<string, string>) {
    this.#hashes = hashes;
    mkdirSync(directory, { recursive: true });
    if (!existsSync(resultsFile)) return;
    for (const line of readFileSync(resultsFile, "utf8").split("\n")) {
      if (line === "") continue;
      const { key, outcome, by } = Line.parse(JSON.parse(line));
      this.#known.set(key, { outcome, ...(by !== undefined && { by }) });
    }
  }

  of(mutant: Mutant): Verdict | undefined {
    return this.#known.get(this.#keyOf(mutant));
  }

  add(mutant: Mutant, verdict: Verdict): void {
    const key = this.#keyOf(mutant);
    this.#known.set(key, verdict);
    appendFileSync(resultsFile, `${JSON.stringify({ key, ...verdict })}\n`);
  }

  #keyOf({ file: source, within, original, what, occurrence }: Mutant): string {
    return JSON.stringify([source, this.#hashes.get(source), within, original, what, occurrence]);
  }
}

const Kept = z.object({
  of: z.string(),
  measured: z.object({ file: z.string(), tests: z.array(Measured), atLoad: z.array(z.number()) }),
});

/** Measures a program's test files, but for those that were measured before, with the same sources and helpers. */
export async function remembered(
  { name, tests: files }: Part,
  measure: (files: readonly string[]) => Promise<MeasuredFile[]>,
): Promise<MeasuredFile[]> {
  const place = join(directory, `measured-${name}.json`);
  const read = existsSync(place) ? z.array(Kept).safeParse(JSON.parse(readFileSync(place, "utf8"))).data : undefined;
  const known = new Map<string, MeasuredFile>();
  for (const { of: state, measured: each } of read ?? []) known.set(`${state} ${each.file}`, each);
  // Not those that only decide what becomes of what is measured.
  const exclude = ["**/*.test.ts", "test/mutants/{accepted,main,process,records,report,trial,types}.ts"];
  const common = hashOf(globSync("{src,test}/**/*.ts", { exclude }));
  const of = (file: string) => `${common} ${existsSync(file) ? hashOf([file]) : ""}`;
  const missing = files.filter((file) => !known.has(`${of(file)} ${file}`));
  const fresh = missing.length === 0 ? [] : await measure(missing);
  for (const each of fresh) known.set(`${of(each.file)} ${each.file}`, each);
  const measured = files.flatMap((file) => known.get(`${of(file)} ${file}`) ?? []);
  mkdirSync(directory, { recursive: true });
  writeFileSync(place, JSON.stringify(measured.map((each) => ({ of: of(each.file), measured: each }))));
  return measured;
}

function hashOf(paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of paths.toSorted()) hash.update(path).update(readFileSync(path));
  return hash.digest("hex");
}
