// Runs beside a test run or a demo, reads one order per line, and cleans up when the orders end, that is when
// the process that gave them has ended, in whatever way. Only a closed pipe reveals a SIGKILL.
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const groups = new Set<number>();
const directories = new Set<string>();

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);

for await (const line of createInterface({ input: process.stdin })) {
  const [verb = "", what = ""] = line.split(/ (.*)/s);
  if (verb === "end") groups.add(Number(what));
  else if (verb === "ended") groups.delete(Number(what));
  else if (verb === "remove") directories.add(what);
  else if (verb === "removed") directories.delete(what);
}

for (const group of groups) signalled(group, "SIGKILL");
// On a busy machine a killed process writes for a while; one that nobody waits for is listed for ever.
const deadline = Date.now() + 10_000;
while (Date.now() < deadline && [...groups].some((group) => signalled(group, 0))) await sleep(20);
for (const directory of directories)
  rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });

/** Sends a signal to a process group; false where it has ended. */
function signalled(group: number, signal: "SIGKILL" | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}
