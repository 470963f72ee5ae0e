import type { Socket } from "node:net";
import { type Holding, networkOf, type Shares } from "./shares.ts";

/** Time without a word after which the system asks whether the other end is still there, in milliseconds. */
const silenceMs = 60_000;

/**
 * Takes a connection in, as one of its network's until it ends; closes it, and answers nothing, where the network has
 * its share. An end that vanishes without a word, as a laptop does that is closed, is noticed.
 */
export function takeIn(socket: Socket, connections: Shares): Holding | undefined {
  socket.setKeepAlive(true, silenceMs);
  const holding = connections.of(networkOf(socket.remoteAddress));
  if (!holding.take(1)) {
    socket.destroy();
    return undefined;
  }
  socket.once("close", () => holding.release());
  return holding;
}
