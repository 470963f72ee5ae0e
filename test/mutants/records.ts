import { createHash } from "node:crypto";
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Mutant } from "./instrument.ts";
import { Measured } from "./messages.ts";
import type { MeasuredFile } from "./plan.ts";
import type { Verdict } from "./trial.ts";

const directory = ".mutants";
const file = join(directory, "results.jsonl");

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
    if (!existsSync(file)) return;
    for (const line of readFileSync(file, "utf8").split("\n")) {
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
    appendFileSync(file, `${JSON.stringify({ key, ...verdict })}\n`);
  }

  #keyOf({ file: source, within, original, what, occurrence }: Mutant): string {
    return JSON.stringify([source, this.#hashes.get(source), within, original, what, occurrence]);
  }
}

const Kept = z.object({
  of: z.string(),
  measured: z.array(z.object({ file: z.string(), tests: z.array(Measured), atLoad: z.array(z.number()) })),
});

/** Measures, unless that was done with the very same sources and tests. */
export async function remembered(measure: () => Promise<MeasuredFile[]>): Promise<readonly MeasuredFile[]> {
  const place = join(directory, "measured.json");
  const hash = createHash("sha256");
  for (const path of globSync("{src,test}/**/*.ts").toSorted()) hash.update(path).update(readFileSync(path));
  const of = hash.digest("hex");
  const kept = existsSync(place) ? Kept.safeParse(JSON.parse(readFileSync(place, "utf8"))).data : undefined;
  if (kept?.of === of) return kept.measured;
  const measured = await measure();
  mkdirSync(directory, { recursive: true });
  writeFileSync(place, JSON.stringify({ of, measured }));
  return measured;
}
