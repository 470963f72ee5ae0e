import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cacheDirectory } from "../control-plane/binaries.ts";
import { goBuild } from "../support/go-build.ts";
import { oneAtATime } from "../support/one-at-a-time.ts";
import { reporting } from "../support/progress.ts";

/** Our own programs around the libraries of GitOps tools, in test/gitops/go. */
type Program = "verdicts" | "engine";

/** On a machine with nothing in its caches and two slow cores, in milliseconds. */
export const longestBuildMs = 1_800_000;

const module = join(import.meta.dirname, "go");

/** The path of a program: from the cache, else built with Go, in about five minutes. */
export async function findProgram(program: Program): Promise<string> {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum", join(program, "main.go")]) hash.update(readFileSync(join(module, file)));
  const cache = join(cacheDirectory(), "..", "..", "tools", `${process.platform}-${process.arch}`);
  const cached = join(cache, `gitops-${program}-${hash.digest("hex").slice(0, 12)}`);
  if (existsSync(cached)) return cached;

  mkdirSync(cache, { recursive: true });
  await oneAtATime(join(cache, ".lock"), async () => {
    if (!existsSync(cached)) await build(program, cache, cached);
  });
  return cached;
}

async function build(program: Program, cache: string, cached: string): Promise<void> {
  const staging = mkdtempSync(join(cache, ".new-"));
  try {
    const output = join(staging, program);
    const progress = (line: string) => console.error(line);
    const label = `Building test/gitops/go/${program} with Go, once for this machine`;
    const problem = await reporting(label, progress, () => goBuild({ module, package: `./${program}`, output }));
    if (problem !== undefined) {
      throw new Error(`${problem}\nInstall Go, and give it a module proxy: this check is never skipped.`);
    }
    renameSync(output, cached);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}
