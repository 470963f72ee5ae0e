import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ServiceClock } from "../clock.ts";

/** The most requests of one connection that wait for the answers to those before them. */
const mostWaiting = 20;

/**
 * Answers the requests of a connection one by one, and lets other connections take their turn in between: one chunk of
 * bytes brings thousands of requests, whose answers at once would hold the loop. A connection with more of them than
 * any client sends ahead is ended, and while one waits nothing more is read.
 */
export class Pipelines {
  readonly #clock: Pick<ServiceClock, "after">;
  /** By connection with an unanswered request: those after it. */
  readonly #waiting = new WeakMap<Socket, (() => void)[]>();

  constructor(clock: Pick<ServiceClock, "after">) {
    this.#clock = clock;
  }

  take({ socket }: IncomingMessage, outgoing: ServerResponse, answer: () => void): void {
    const waiting = this.#waiting.get(socket);
    const begin = () => {
      outgoing.once("close", () => this.#next(socket));
      answer();
    };
    if (!waiting) {
      this.#waiting.set(socket, []);
      begin();
    } else if (waiting.length < mostWaiting) {
      waiting.push(begin);
      // Node resumes the connection with the end of each request that it reads, all those of a chunk in one go.
      queueMicrotask(() => waiting.length > 0 && socket.pause());
    } else socket.destroy();
  }

  #next(socket: Socket): void {
    const waiting = this.#waiting.get(socket);
    if (socket.destroyed || !waiting || waiting.length === 0) this.#waiting.delete(socket);
    else this.#clock.after(0, () => (socket.destroyed ? this.#waiting.delete(socket) : this.#begin(socket, waiting)));
  }

  #begin(socket: Socket, waiting: (() => void)[]): void {
    const begin = waiting.shift();
    if (waiting.length === 0) socket.resume();
    begin?.();
  }
}
