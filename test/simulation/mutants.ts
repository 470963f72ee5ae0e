import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

/** A mistake in one line of the operator's source, which is changed as it is loaded and nowhere else. */
export interface Mutant {
  /** Below `src/operator`. */
  file: string;
  /** Stands in that file exactly once. */
  line: string;
  as: string;
}

/** The mutants that seeds must catch, the promise that each breaks, and a seed from which on it soon does. */
export const mutants: Readonly<Record<string, Mutant & { breaks: RegExp; from?: number }>> = {
  "a create sent again from a list that began before `--create-settle` was over": {
    file: "compute/record.ts",
    line: "return startedAt >= settlesAt ? 0",
    as: "return now >= settlesAt ? 0",
    breaks: /never twice|finalizers|all is well/,
    from: 100,
  },
  "a lease duration that counts from the answer to a renewal, not from its request": {
    file: "kube/lease-claim.ts",
    line: "this.#renewed = began;",
    as: "this.#renewed = this.#times();",
    breaks: /one leader/,
  },
  "a branch's name that is resolved once and never followed": {
    file: "compute/plan/branch.ts",
    line: "if (id === before) return undefined;",
    as: "if (before !== undefined) return undefined;",
    breaks: /all is well/,
  },
};

/** From now on this thread loads the operator with the mistake in it: nothing of the operator may be loaded before. */
export function plantMutant({ file, line, as }: Mutant): void {
  const url = sourceOf(file).href;
  registerHooks({
    load(loaded, context, nextLoad) {
      const module = nextLoad(loaded, context);
      if (loaded !== url) return module;
      return { ...module, source: readFileSync(fileURLToPath(url), "utf8").replace(line, () => as) };
    },
  });
}

/** How often the line of a mutant stands in its file: other than once, it is no mutant. */
export function occurrences({ file, line }: Mutant): number {
  return readFileSync(sourceOf(file), "utf8").split(line).length - 1;
}

function sourceOf(file: string): URL {
  return new URL(`../../src/operator/${file}`, import.meta.url);
}
