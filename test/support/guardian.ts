import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Guardian {
  process: ChildProcess;
  orders: Socket;
}

let guardian: Guardian | undefined;

/** Has the process group ended when this process ends, however that happens, SIGKILL included. */
export function endWithUs(group: number): { ended: () => void } {
  order(`end ${group}`);
  return { ended: () => order(`ended ${group}`) };
}

/** A new directory of our own in `parent`, removed by `remove`, or else when this process ends. */
export function temporaryDirectory(name: string, parent = tmpdir()): { path: string; remove: () => void } {
  const path = mkdtempSync(join(parent, `compute-operator-${name}-`));
  order(`remove ${path}`);
  return {
    path,
    remove: () => {
      rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
      order(`removed ${path}`);
    },
  };
}

/** Does now what would be done when this process ends, and resolves when it is done. */
export async function endEverything(): Promise<void> {
  if (guardian === undefined) return;
  const { process: child, orders } = guardian;
  guardian = undefined;
  child.ref();
  const done = new Promise((resolve) => child.once("close", resolve));
  orders.end();
  await done;
}

function order(line: string): void {
  guardian ??= startGuardian();
  guardian.orders.write(`${line}\n`);
}

function startGuardian(): Guardian {
  // In a process group of its own, so that a Ctrl-C meant for us does not end it before its work.
  const child = spawn(process.execPath, [join(import.meta.dirname, "guardian-process.ts")], {
    stdio: ["pipe", "ignore", "inherit"],
    detached: true,
  });
  child.unref();
  const { stdin: orders } = child;
  if (!(orders instanceof Socket)) throw new Error("the guardian process has no pipe to take orders from");
  orders.unref();
  return { process: child, orders };
}
