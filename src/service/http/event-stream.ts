import type { ServerResponse } from "node:http";
import type { ServiceClock } from "../clock.ts";
import type { EventStream } from "./exchange.ts";

/** The headers of a stream. Without the last, nginx keeps events and head until it has many, or for a minute. */
const streamHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-accel-buffering": "no",
};

/** Rest of a stream after each event, in milliseconds. */
const restMs = 100;

/**
 * Sends events as they come, each after a rest: hundreds of clients hear of each change. Of those that wait for it, or
 * for a client that is too slow, only the newest is sent.
 */
export function sendEvents(clock: Pick<ServiceClock, "after">, outgoing: ServerResponse, open: EventStream): void {
  let waiting: string | undefined;
  let rests = false;
  outgoing.writeHead(200, streamHeaders);
  outgoing.flushHeaders();
  const pass = () => {
    if (waiting === undefined || rests || outgoing.destroyed || outgoing.writableNeedDrain) return;
    outgoing.write(waiting);
    waiting = undefined;
    rests = true;
    clock.after(restMs, () => {
      rests = false;
      pass();
    });
  };
  const close = open({
    send(event) {
      waiting = event;
      pass();
    },
    end() {
      outgoing.end();
      waiting = undefined;
    },
  });
  outgoing.on("drain", pass);
  // A client that has left by now closes nothing any more.
  if (outgoing.destroyed) close();
  else outgoing.once("close", close);
}
