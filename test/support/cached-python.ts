import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * A Python that has a package which only some tests need, unmodified: installed once for this machine, outside the
 * repository. Answers the path of its program. Needs Python 3.
 */
export function cachedPython(requirement: string): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const environment = join(cache, "compute-operator", `python-${requirement.replaceAll(/[^\w.]+/g, "-")}`);
  const python = join(environment, "bin", "python");
  if (!existsSync(python)) run("python3", ["-m", "venv", environment]);
  run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]);
  return python;
}

function run(command: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
}
