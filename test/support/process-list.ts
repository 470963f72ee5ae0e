import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** The command lines of all processes of this machine, arguments parted by blanks. */
export function commandLines(): string[] {
  // Slim images have no `ps`, and where there is no /proc there is one.
  if (!existsSync("/proc/self/cmdline")) return execFileSync("ps", ["-axo", "args"], { encoding: "utf8" }).split("\n");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    });
}
