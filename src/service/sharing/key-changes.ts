import type { Duplex } from "node:stream";

/** The most changes of its key by a client: others make one after gigabytes, or after millions of messages. */
const mostChanges = 20;

/**
 * Ends a connection of TLS 1.3 whose client changes its key again and again. No limit of Node's counts that: a change
 * takes 27 bytes, and as much time as a request, and the loop gets no turn while more of them come.
 */
export function endKeyChanges(secure: Duplex): void {
  let changes = 0;
  // Node emits it amid the reading of each change: the connection is read no further.
  secure.on("keylog", (line: Buffer) => {
    if (!line.toString("latin1", 0, 40).startsWith("CLIENT_TRAFFIC_SECRET_N ")) return;
    changes += 1;
    if (changes > mostChanges) secure.destroy();
  });
}
