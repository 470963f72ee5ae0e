import type { Socket } from "node:net";

/** Time without a word after which the system asks whether the other end is still there, in milliseconds. */
const silenceMs = 60_000;

/** Notices an end that has vanished without a word, as a laptop does that is closed: its connection ends. */
export function noticeVanished(socket: Socket): void {
  socket.setKeepAlive(true, silenceMs);
}
