import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

let orders: Socket | undefined;

/** Has the process group ended when this process ends, however that happens, SIGKILL included. */
export function endWithUs(group: number): { ended: () => void } {
  order(`end ${group}`);
  return { ended: () => order(`ended ${group}`) };
}

/** A new directory of our own, removed by `remove`, or else when this process ends. */
export function temporaryDirectory(name: string): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), `compute-operator-${name}-`));
  order(`remove ${path}`);
  return {
    path,
    remove: () => {
      rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
      order(`removed ${path}`);
    },
  };
}

function order(line: string): void {
  orders ??= startGuardian();
  orders.write(`${line}\n`);
}

function startGuardian(): Socket {
  // In a process group of its own, so that a Ctrl-C meant for us does not end it before its work.
  const guardian = spawn(process.execPath, [join(import.meta.dirname, "guardian-process.ts")], {
    stdio: ["pipe", "ignore", "inherit"],
    detached: true,
  });
  guardian.unref();
  if (!(guardian.stdin instanceof Socket)) throw new Error("the guardian process has no pipe to take orders from");
  guardian.stdin.unref();
  return guardian.stdin;
}
