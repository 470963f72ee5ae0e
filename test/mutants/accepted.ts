import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import type { Mutant } from "./instrument.ts";

const Accepted = z.strictObject({
  /** A file, or all of a folder: `src/operator/connection/`. */
  file: z.string(),
  /** What encloses it; anything where left out. */
  within: z.string().optional(),
  /** The code, or a pattern for it between slashes: `/\bnow\b/`. */
  original: z.string(),
  /** One change or several of the same place. */
  what: z.union([z.string(), z.array(z.string()).min(1)]),
  /** Which of several alike; all where left out. */
  occurrence: z.int().optional(),
  because: z.string().min(10),
});
export type Accepted = z.infer<typeof Accepted>;

/** The mutants that may survive, each with the reason; a file for each room. */
export function readAccepted(pattern = join(import.meta.dirname, "accepted", "*.yaml")): Accepted[] {
  const files = globSync(pattern).toSorted();
  return files.flatMap((file) => z.array(Accepted).parse(parse(readFileSync(file, "utf8")) ?? []));
}

export function accepts(accepted: Accepted, mutant: Mutant): boolean {
  const whats = typeof accepted.what === "string" ? [accepted.what] : accepted.what;
  return (
    (accepted.file.endsWith("/") ? mutant.file.startsWith(accepted.file) : accepted.file === mutant.file) &&
    (accepted.within === undefined || accepted.within === mutant.within) &&
    fits(accepted.original, mutant.original) &&
    whats.includes(mutant.what) &&
    (accepted.occurrence === undefined || accepted.occurrence === mutant.occurrence)
  );
}

/** Whether a code is the one that an entry names, or fits its pattern. */
function fits(named: string, original: string): boolean {
  const pattern = /^\/(.*)\/$/.exec(named)?.[1];
  return pattern === undefined ? named === original : new RegExp(pattern).test(original);
}

/** Entries that fit no mutant any more, or only such as are caught by now: they are to be taken out. */
export function staleOf(
  all: readonly Accepted[],
  mutants: readonly Mutant[],
  isCaught: (mutant: Mutant) => boolean,
): Accepted[] {
  return all.filter((accepted) => mutants.filter((mutant) => accepts(accepted, mutant)).every(isCaught));
}
