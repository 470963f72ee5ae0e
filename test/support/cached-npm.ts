import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/**
 * Packages that only some tests need, unmodified: installed once for this machine, outside the repository. Answers the
 * `require` of their directory.
 */
export function cachedPackages(...packages: readonly string[]): NodeJS.Require {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const home = join(cache, "compute-operator", packages.join("-"));
  if (!existsSync(join(home, "package.json"))) {
    mkdirSync(dirname(home), { recursive: true });
    const staging = mkdtempSync(join(dirname(home), ".new-"));
    const args = ["install", "--prefix", staging, "--no-audit", "--no-fund", "--loglevel=error", ...packages];
    const { status, stderr } = spawnSync("npm", args, { encoding: "utf8" });
    if (status !== 0) throw new Error(`npm cannot install ${packages.join(" ")}: ${stderr}`);
    // Test files run side by side: the first one's is as good as ours.
    if (existsSync(home)) rmSync(staging, { recursive: true });
    else renameSync(staging, home);
  }
  return createRequire(join(home, "package.json"));
}
