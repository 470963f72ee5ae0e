import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./instrument.ts";

const directory = join(".mutants", "types");

/**
 * The mutants that the compiler refuses. Each round has one mutant in each file: exported functions say what they
 * return, so that a mistake is reported in the file that has it.
 */
export function refusedByTypes(mutants: readonly Mutant[], sources: ReadonlyMap<string, string>): Set<Mutant> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  cpSync("src", join(directory, "src"), { recursive: true });
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ extends: "../../tsconfig.json", include: ["src"] }));
  const refused = new Set<Mutant>();
  const waiting = Map.groupBy(mutants, ({ file }) => file);
  while (waiting.size > 0) {
    const round = new Map<string, Mutant>();
    for (const [file, list] of waiting) {
      const mutant = list.shift();
      const source = sources.get(file) ?? "";
      writeFileSync(join(directory, file), mutant === undefined ? source : mutated(source, mutant));
      if (mutant === undefined) waiting.delete(file);
      else round.set(file, mutant);
    }
    const wrong = filesWithErrors();
    for (const [file, mutant] of round) if (wrong.has(file)) refused.add(mutant);
  }
  rmSync(directory, { recursive: true, force: true });
  return refused;
}

/** The source with this one mutant in place. */
export function mutated(source: string, { start, end, code }: Mutant): string {
  return source.slice(0, start) + code + source.slice(end);
}

function filesWithErrors(): Set<string> {
  const { stdout, status, error } = spawnSync("node_modules/.bin/tsc", ["--noEmit", "-p", directory], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status === null) throw new Error("tsc did not end", { cause: error });
  const prefix = `${directory}/`;
  const files = [...stdout.matchAll(/^(\S+?)\(\d+,\d+\): error /gm)].map(([, file = ""]) => file);
  return new Set(files.map((file) => (file.startsWith(prefix) ? file.slice(prefix.length) : file)));
}
