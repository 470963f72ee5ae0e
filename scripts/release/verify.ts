import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { readSums, sha256Of } from "./checksums.ts";
import type { Run } from "./programs.ts";
import { provenanceFile } from "./provenance.ts";
import { makeRelease } from "./release.ts";

const statementOf = z.object({
  subject: z.array(z.object({ name: z.string(), digest: z.object({ sha256: z.string() }) })),
  predicate: z.object({
    buildDefinition: z.object({
      externalParameters: z.object({ registry: z.string(), downloadURL: z.string().optional() }),
      resolvedDependencies: z.array(
        z.object({
          uri: z.string(),
          digest: z.object({ gitCommit: z.string().optional(), sha256: z.string().optional() }).optional(),
        }),
      ),
    }),
  }),
});

/** What a check of a release found. */
export interface Verified {
  readonly commit: string;
  /** Files whose bytes are those of a second run. */
  readonly same: readonly string[];
  /** A sentence for each file that is not what it should be. */
  readonly problems: readonly string[];
  /** Files that this machine cannot make. */
  readonly notMade: readonly string[];
}

/**
 * Checks a release: its files have the sums that it names, its provenance names the same, and a second run from this
 * clone gives the same bytes. Throws where the clone is at another commit than the release.
 */
export async function verifyRelease(directory: string, uncommitted: boolean, run: Run): Promise<Verified> {
  const sums = readSums(directory);
  const statement = statementOf.parse(JSON.parse(readFileSync(join(directory, provenanceFile), "utf8")));
  const { externalParameters, resolvedDependencies } = statement.predicate.buildDefinition;
  const commit = resolvedDependencies.flatMap(({ digest }) => digest?.gitCommit ?? [])[0] ?? "none";
  const problems = [...sums].flatMap(([name, sum]) => differing(join(directory, name), name, sum));
  for (const { name, digest } of statement.subject) {
    if (sums.get(name) !== digest.sha256)
      problems.push(`${name}: SHA256SUMS and ${provenanceFile} name different sums`);
  }

  const output = mkdtempSync(join(tmpdir(), "compute-operator-release-"));
  try {
    const baseImages = resolvedDependencies.flatMap(({ uri, digest }) => {
      const [, name] = /^docker:\/\/(.+)$/.exec(uri) ?? [];
      if (name === undefined) return [];
      return [{ name, digest: digest?.sha256 === undefined ? undefined : `sha256:${digest.sha256}` }];
    });
    const again = await makeRelease({ ...externalParameters, output, uncommitted, baseImages }, run);
    if (again.commit.id !== commit) {
      throw new Error(
        `${directory} is of commit ${commit}, and this clone is at ${again.commit.id}: run \`git checkout ${commit}\` first.`,
      );
    }
    const notMade = [...sums.keys()].filter((name) => !again.sums.has(name));
    // Their content names the files that cannot be made here.
    const dependent = notMade.length > 0 ? [provenanceFile] : [];
    const compared = [...sums].filter(([name]) => again.sums.has(name) && !dependent.includes(name));
    const same = compared.filter(([name, sum]) => again.sums.get(name) === sum).map(([name]) => name);
    const other = compared.filter(([name]) => !same.includes(name)).map(([name]) => name);
    problems.push(...other.map((name) => `${name}: a second run from commit ${commit} gives other bytes`));
    return { commit, same, problems, notMade: [...notMade, ...dependent] };
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

function differing(file: string, name: string, sum: string): string[] {
  try {
    return sha256Of(file) === sum ? [] : [`${name}: its bytes are not those that SHA256SUMS names`];
  } catch {
    return [`${name}: SHA256SUMS names it, and it is not there`];
  }
}
