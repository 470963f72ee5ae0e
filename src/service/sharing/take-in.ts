import type { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type Holding, networkOf, type Shares } from "./shares.ts";

/** Time without a word after which the system asks whether the other end is still there, in milliseconds. */
const silenceMs = 60_000;

/**
 * Answers the port in use: the one asked for, or with 0 any free one. Rejects with the system's error. A connection
 * that cannot be accepted later, as all files are open, is lost, and the server goes on.
 */
export function listenOn(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.on("error", reject);
    server.listen(port, host, () => {
      const bound = server.address();
      resolve(typeof bound === "object" && bound ? bound.port : port);
    });
  });
}

/** Takes no more connections, ends those that are open, and resolves when all are gone. */
export function closeWith(server: Server, open: Iterable<Duplex>): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    for (const one of open) one.destroy();
  });
}

/**
 * Takes a connection in, as one of its network's until the caller releases it; closes it where the network has its
 * share, after `last`, which says so in the words of its protocol. An end that vanishes without a word, as a laptop
 * does that is closed, is noticed.
 */
export function takeIn(socket: Socket, connections: Shares, last?: string | Buffer): Holding | undefined {
  socket.setKeepAlive(true, silenceMs);
  const holding = connections.of(networkOf(socket.remoteAddress));
  if (!holding.take(1)) {
    socket.on("error", () => socket.destroy());
    if (last === undefined) socket.destroy();
    else socket.write(last, () => socket.destroy());
    return undefined;
  }
  return holding;
}
