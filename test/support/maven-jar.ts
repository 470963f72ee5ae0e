import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * The directory of a published jar (`GROUP:NAME:VERSION`) that only some tests need, unmodified: fetched once for this
 * machine, outside the repository. Needs Maven.
 */
export function mavenJar(artifact: string): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const directory = join(cache, "compute-operator", artifact.replaceAll(":", "-"));
  const [, name = "", version = ""] = artifact.split(":");
  if (existsSync(join(directory, `${name}-${version}.jar`))) return directory;
  mkdirSync(directory, { recursive: true });
  const args = [
    "--quiet",
    "--batch-mode",
    "dependency:copy",
    `-Dartifact=${artifact}`,
    `-DoutputDirectory=${directory}`,
  ];
  const { status, error, stdout } = spawnSync("mvn", args, { encoding: "utf8", cwd: directory });
  if (status !== 0) throw new Error(`mvn cannot fetch ${artifact}: ${error?.message ?? stdout}`);
  return directory;
}
