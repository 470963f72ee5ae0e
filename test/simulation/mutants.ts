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
  "a create sent again before `--create-settle` is over": {
    file: "life/record.ts",
    line: "return openedAt + createSettleMs + mostLagMs;",
    as: "return openedAt + mostLagMs;",
    breaks: /never twice|finalizers|all is well/,
  },
  "a lease duration that counts from the answer to a renewal, not from its request": {
    file: "kube/lease-claim.ts",
    line: "this.#renewed = began;",
    as: "this.#renewed = this.#times();",
    breaks: /one leader/,
    from: 47,
  },
  "a branch's name that is resolved once and never followed": {
    file: "compute/plan/branch.ts",
    line: "if (id === before) return undefined;",
    as: "if (before !== undefined) return undefined;",
    breaks: /all is well/,
    from: 5,
  },
  "a replica that is in conflict for the primary of its branch": {
    file: "compute/plan/create.ts",
    line: 'const blocked = type === "read_write" ? occupied(o) : undefined;',
    as: 'const found = occupied(o); const blocked = type === "read_write" || (found?.kind === "blocked" && found.reason === "Conflict") ? found : undefined;',
    breaks: /all is well/,
    from: 15,
  },
  "an endpoint that is said to be lost, and stands": {
    file: "compute/plan/at-rest.ts",
    line: "const reason = restingState(endpoint);",
    as: 'if (compute.spec.driftPolicy === "Report" && compute.spec.adopt === undefined) return { kind: "wait", reason: "EndpointLost", message: "Lost.", requeueAfterMs: 60_000 };\nconst reason = restingState(endpoint);',
    breaks: /all is well/,
    from: 22,
  },
  "a single loss that is taken for a mass loss": {
    file: "compute/plan/lost.ts",
    line: "(missing > mostLost && missing * 2 > known)",
    as: "missing > 0",
    breaks: /all is well/,
    from: 41,
  },
  "a create that waits ten minutes for nothing": {
    file: "compute/plan/create.ts",
    line: 'const blocked = type === "read_write" ? occupied(o) : undefined;',
    as: 'if (o.now - s.seenSince < 600_000) return { kind: "noop", requeueAfterMs: 60_000 };\nconst blocked = type === "read_write" ? occupied(o) : undefined;',
    breaks: /all is well/,
  },
  "a branch that is gone, and made again though nobody asked": {
    file: "branch/plan/gone.ts",
    line: "if (isAsked) {",
    as: "if (gone.how !== undefined) {",
    breaks: /no fresh copy/,
    from: 45,
  },
  "a branch that is deleted although its Branch says Retain": {
    file: "branch/plan/delete.ts",
    line: "if (isRetained(object)) {",
    as: "if (isRetained(object) && listed.name === undefined) {",
    breaks: /no defect stopped/,
    from: 44,
  },
  "an end that a person gave a branch, and that is written over": {
    file: "branch/plan/expiry.ts",
    line: 'if (wanted.kind === "past" || differs(o) || !isDue(o)) return undefined;',
    as: 'if (wanted.kind === "past" || !(differs(o) || isDue(o))) return undefined;',
    breaks: /ends kept/,
    from: 22,
  },
  "a reset that is sent again without waiting for its outcome": {
    file: "branch/plan/reset.ts",
    line: "if (waits !== undefined) return waits;",
    as: "if (waits !== undefined && asks === undefined) return waits;",
    breaks: /reset once/,
    from: 15,
  },
  "a lease that is not renewed": {
    file: "branch/plan/expiry.ts",
    line: "return lengthMs !== undefined && o.serviceNow >= renewalAt(o, lengthMs);",
    as: "return false;",
    breaks: /all is well/,
    from: 9,
  },
  "a window that holds nothing": {
    file: "compute/plan/changes.ts",
    line: "if (o.moment?.closed === undefined) return false;",
    as: "return false;",
    breaks: /cut in windows/,
    from: 44,
  },
  "a boundary at which nobody looks": {
    file: "compute/requeue.ts",
    line: "const times = [moment.until, opens === undefined ? undefined : opens + marginMs].filter((at) => at !== undefined);",
    as: "const times = [moment.until + 3_600_000, opens === undefined ? undefined : opens + marginMs].filter((at) => !Number.isNaN(at));",
    breaks: /boundaries are kept/,
    from: 8,
  },
  "members of a pool that change at once": {
    file: "compute/plan/turn.ts",
    line: "return listedFrom(o) !== undefined || siblings.unavailable(o.endpoints) >= siblings.maxUnavailable;",
    as: "return listedFrom(o) !== undefined;",
    breaks: /one after another/,
    from: 7,
  },
  "a Secret in a namespace that does not agree": {
    file: "connection-secret/connection-secret.ts",
    line: "if (agrees === true) return undefined;",
    as: "if (agrees !== undefined) return undefined;",
    breaks: /where a namespace agrees/,
    from: 7,
  },
  "a Secret in another namespace that stays when its Compute goes": {
    file: "connection-secret/removal.ts",
    line: "return waits ? undefined : this.#remove(compute, known, places, undefined);",
    as: "return [];",
    breaks: /all is well/,
    from: 78,
  },
  "somebody's own Secret that is written over": {
    file: "connection-secret/connection-secret.ts",
    line: "if (secret === undefined || isOf(secret, compute)) return secret;",
    as: "if (secret !== undefined || isLive === undefined) return secret;",
    breaks: /nobody's own Secret/,
    from: 62,
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
