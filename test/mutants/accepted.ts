import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import type { Mutant } from "./instrument.ts";

const Accepted = z.strictObject({
  file: z.string(),
  within: z.string(),
  original: z.string(),
  /** One change or several of the same place. */
  what: z.union([z.string(), z.array(z.string()).min(1)]),
  /** Which of several alike; all where left out. */
  occurrence: z.int().optional(),
  because: z.string().min(10),
});
export type Accepted = z.infer<typeof Accepted>;

/** The mutants that may survive, each with the reason. */
export function readAccepted(file = join(import.meta.dirname, "accepted.yaml")): Accepted[] {
  return z.array(Accepted).parse(parse(readFileSync(file, "utf8")) ?? []);
}

export function accepts(accepted: Accepted, mutant: Mutant): boolean {
  const whats = typeof accepted.what === "string" ? [accepted.what] : accepted.what;
  return (
    accepted.file === mutant.file &&
    accepted.within === mutant.within &&
    accepted.original === mutant.original &&
    whats.includes(mutant.what) &&
    (accepted.occurrence === undefined || accepted.occurrence === mutant.occurrence)
  );
}

/** Entries that fit no mutant any more, or only such as are caught by now: they are to be taken out. */
export function staleOf(
  all: readonly Accepted[],
  mutants: readonly Mutant[],
  isCaught: (mutant: Mutant) => boolean,
): Accepted[] {
  return all.filter((accepted) => mutants.filter((mutant) => accepts(accepted, mutant)).every(isCaught));
}
