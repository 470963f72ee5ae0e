import { randomInt } from "node:crypto";
import { mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Below the ports that systems give to outgoing connections, which could take one before its server listens. */
const range = { from: 15_000, to: 32_000 } as const;

/** How long a port belongs to the process that took it although nothing listens there yet, in milliseconds. */
const claimMs = 5 * 60_000;

/** As many different TCP ports as asked for, free on the loopback address, and given to no other test meanwhile. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = [];
  for (let tries = 0; servers.length < count; tries += 1) {
    if (tries > 1000 + count) throw new Error(`${count} TCP ports are not free between ${range.from} and ${range.to}`);
    const port = randomInt(range.from, range.to);
    const server = claimPort(port) ? await listen(port) : undefined;
    if (server !== undefined) servers.push({ port, server });
  }
  await Promise.all(servers.map(({ server }) => new Promise((resolve) => server.close(resolve))));
  return servers.map(({ port }) => port);
}

/** One such port. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error("no free TCP port");
  return port;
}

/**
 * Takes a port for this process; false where another has taken it. A program listens seconds after its port was chosen,
 * on a busy machine a minute, and two that got the same number would end one of them.
 */
export function claimPort(port: number, directory = join(tmpdir(), "compute-operator-ports")): boolean {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, String(port));
  try {
    writeFileSync(file, "", { flag: "wx" });
    return true;
  } catch {
    const now = Date.now();
    if (now - statSync(file).mtimeMs < claimMs) return false;
    utimesSync(file, now / 1000, now / 1000);
    return true;
  }
}

/** A server on this port; `undefined`: another has it. */
function listen(port: number): Promise<ReturnType<typeof createServer> | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
