import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { oneAtATime } from "./one-at-a-time.ts";

export interface Program {
  /** What it is needed for, e.g. `The tests of the console need a Chromium`. */
  purpose: string;
  /** Environment variable that may name another. */
  variable: string;
  /** Where Debian's package puts it. */
  path: string;
  package: string;
}

/**
 * The path of a program; installs Debian's package where there is none and this process may. Rejects with what to do.
 */
export async function programPath({ purpose, variable, path, package: name }: Program): Promise<string> {
  const named = process.env[variable];
  if (named !== undefined) return named;
  if (existsSync(path)) return path;
  const problem = process.getuid?.() === 0 ? await installOnce(path, name) : "only root can install it";
  if (problem === undefined && existsSync(path)) return path;
  throw new Error(
    `${purpose}, there is none at ${path}, and ${problem ?? "its package has none"}. ` +
      `Install it (Debian: apt-get install ${name}), or set ${variable} to the path of one.`,
  );
}

/** apt-get does not wait for another that reads the package lists: several test files install at the same time. */
function installOnce(path: string, name: string): Promise<string | undefined> {
  const lock = join(tmpdir(), "compute-operator-apt-get.lock");
  return oneAtATime(lock, async () => (existsSync(path) ? undefined : await install(name)));
}

/** Resolves with what went wrong, or `undefined`. */
async function install(name: string): Promise<string | undefined> {
  console.error(`Installing ${name} with apt-get, about half a minute…`);
  return (await aptGet("update")) ?? (await aptGet("install", "--yes", "--no-install-recommends", name));
}

function aptGet(...args: readonly string[]): Promise<string | undefined> {
  const apt = spawn("apt-get", ["-qq", "-o", "DPkg::Lock::Timeout=120", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  apt.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-1000);
  });
  return new Promise((resolve) => {
    apt.once("error", (error) => resolve(`apt-get cannot be run (${error.message})`));
    apt.once("close", (status) =>
      resolve(status === 0 ? undefined : `\`apt-get ${args.join(" ")}\` failed: ${said.trim()}`),
    );
  });
}
