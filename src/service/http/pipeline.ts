import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { ServiceClock } from "../clock.ts";

/** The most requests of one connection that wait for the answers to those before them. */
const mostWaiting = 20;

/** Longest time for a request to wait for the answer to the one before it, in milliseconds. */
const longestWaitMs = 60_000;

/** Length of the pieces in which a chunk of very many lines is taken apart, in bytes: some eighty requests at most. */
const pieceLength = 2048;

/** The most lines of a chunk that is taken apart as a whole: a request has three, and a piece of a body two. */
const mostLines = 3 * mostWaiting;

/**
 * Has Node take a chunk of very many requests, or pieces of a body, apart piece by piece, until the connection ends:
 * each costs time, also where those before it have ended the connection.
 */
export function takeApart(socket: Socket): void {
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null) => {
    if (chunk === null || !hasMany(chunk)) return push(chunk);
    let takesMore = true;
    for (let at = 0; at < chunk.length && !socket.destroyed; at += pieceLength)
      takesMore = push(chunk.subarray(at, at + pieceLength));
    return takesMore;
  };
  // Node's parser reads a connection past its stream until somebody listens to that.
  const listener = () => {};
  socket.on("data", listener).off("data", listener);
}

const lineEnd = Buffer.from("\r\n");

function hasMany(chunk: Buffer): boolean {
  let at = 0;
  for (let lines = 0; lines <= mostLines; lines += 1) {
    const end = chunk.indexOf(lineEnd, at);
    if (end < 0) return false;
    at = end + lineEnd.length;
  }
  return true;
}

/** The requests of a connection that wait, and the end of the time that the first of them has. */
interface Line {
  waiting: (() => void)[];
  stopTimer: () => void;
}

/**
 * Answers the requests of a connection one by one, and lets other connections take their turn in between: one chunk of
 * bytes brings thousands of requests, whose answers at once would hold the loop. A connection with more of them than
 * any client sends ahead is ended, and while one waits nothing more is read. That hides the end of a client that has
 * left, so such a connection is ended too where an answer takes very long.
 */
export class Pipelines {
  readonly #clock: Pick<ServiceClock, "after">;
  /** By connection with an unanswered request: those after it. */
  readonly #lines = new WeakMap<Socket, Line>();

  constructor(clock: Pick<ServiceClock, "after">) {
    this.#clock = clock;
  }

  /** True while a request of the connection is not answered. */
  isBusy(socket: Socket): boolean {
    return this.#lines.has(socket);
  }

  take({ socket }: IncomingMessage, outgoing: ServerResponse, answer: () => void): void {
    const line = this.#lines.get(socket);
    const begin = () => {
      outgoing.once("close", () => this.#next(socket));
      answer();
    };
    if (!line) {
      this.#lines.set(socket, { waiting: [], stopTimer: () => {} });
      begin();
    } else if (line.waiting.length < mostWaiting) {
      line.waiting.push(begin);
      if (line.waiting.length === 1) this.#limit(socket, line);
      // Node resumes the connection with the end of each request that it reads, all those of a chunk in one go.
      queueMicrotask(() => line.waiting.length > 0 && socket.pause());
    } else socket.destroy();
  }

  #limit(socket: Socket, line: Line): void {
    line.stopTimer = line.waiting.length > 0 ? this.#clock.after(longestWaitMs, () => socket.destroy()) : () => {};
  }

  #next(socket: Socket): void {
    const line = this.#lines.get(socket);
    line?.stopTimer();
    if (socket.destroyed || !line || line.waiting.length === 0) this.#lines.delete(socket);
    else this.#clock.after(0, () => (socket.destroyed ? this.#lines.delete(socket) : this.#begin(socket, line)));
  }

  #begin(socket: Socket, line: Line): void {
    const begin = line.waiting.shift();
    this.#limit(socket, line);
    if (line.waiting.length === 0) socket.resume();
    begin?.();
  }
}
