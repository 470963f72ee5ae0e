import type { Duplex } from "node:stream";
import type { ServiceClock } from "../../clock.ts";

/** Time for a client to take our last bytes and to close the connection itself, in milliseconds. */
const closeMs = 10_000;

/**
 * Ends a client's connection with last bytes. A client need not close its own side, and bytes of it that nobody reads
 * would hide that it has: what still comes is dropped, and after a while the connection is closed all the same.
 */
export function endClient(client: Duplex, clock: Pick<ServiceClock, "after">, last?: Buffer): void {
  if (client.destroyed || client.writableEnded) return;
  const stopTimer = clock.after(closeMs, () => client.destroy());
  client.once("close", stopTimer);
  client.end(last);
  client.resume();
}
