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
let over = false;

/**
 * Starts a process, in a group of its own, that ends when this process ends, however that happens, SIGKILL included.
 * Throws once everything has been ended.
 */
export function startWithUs<C extends ChildProcess>(start: (options: { detached: true }) => C): C {
  refuseWhenOver();
  const child = start({ detached: true });
  const { pid } = child;
  if (pid !== undefined) {
    order(`end ${pid}`);
    child.once("close", () => order(`ended ${pid}`));
  }
  return child;
}

/** A new directory of our own in `parent`, removed by `remove`, or else when this process ends. */
export function temporaryDirectory(name: string, parent = tmpdir()): { path: string; remove: () => void } {
  refuseWhenOver();
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

/** Does now what would be done when this process ends, and resolves when it is done; nothing can be started after. */
export async function endEverything(): Promise<void> {
  over = true;
  if (guardian === undefined) return;
  const { process: child, orders } = guardian;
  guardian = undefined;
  child.ref();
  const done = new Promise((resolve) => child.once("close", resolve));
  orders.end();
  await done;
}

function refuseWhenOver(): void {
  if (over) throw new Error("Nothing can be started any more: everything is being ended");
}

function order(line: string): void {
  if (over) return;
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
