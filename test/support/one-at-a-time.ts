import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

/** How often a process that waits looks whether its turn has come, in milliseconds. */
const lookEveryMs = 250;
/** A lock file is written at once after it is made: one that is older and still empty belongs to nobody. */
const emptyForMs = 10_000;

/**
 * Runs `work` in one process of this machine at a time: the others wait. `lockFile` holds the process id of its
 * holder; a lock whose holder has died is taken over.
 */
export async function oneAtATime<T>(lockFile: string, work: () => Promise<T>): Promise<T> {
  while (!claimed(lockFile)) await pause(lookEveryMs);
  try {
    return await work();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function claimed(lockFile: string): boolean {
  try {
    writeFileSync(lockFile, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
    if (isAbandoned(lockFile)) rmSync(lockFile, { force: true });
    return false;
  }
}

function isAbandoned(lockFile: string): boolean {
  try {
    const holder = Number(readFileSync(lockFile, "utf8"));
    if (holder === 0) return Date.now() - statSync(lockFile).mtimeMs > emptyForMs;
    process.kill(holder, 0);
    return false;
  } catch (error) {
    // Given back meanwhile (ENOENT), or held by a process of somebody else (EPERM).
    return hasCode(error, "ESRCH");
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
