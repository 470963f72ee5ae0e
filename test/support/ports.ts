import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports that systems give to outgoing connections, which could take one before its server listens. */
const range = { from: 15_000, to: 32_000 } as const;

/** As many different TCP ports as asked for, free on the loopback address at this moment. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = [];
  for (let tries = 0; servers.length < count; tries += 1) {
    if (tries > 100 + count) throw new Error(`${count} TCP ports are not free between ${range.from} and ${range.to}`);
    const port = randomInt(range.from, range.to);
    const server = await listen(port);
    if (server !== undefined) servers.push({ port, server });
  }
  await Promise.all(servers.map(({ server }) => new Promise((resolve) => server.close(resolve))));
  return servers.map(({ port }) => port);
}

/** One TCP port that is free on the loopback address at this moment. */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  if (port === undefined) throw new Error("no free TCP port");
  return port;
}

/** A server on this port; `undefined`: another has it. */
function listen(port: number): Promise<ReturnType<typeof createServer> | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
