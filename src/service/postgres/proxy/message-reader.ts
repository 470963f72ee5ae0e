import type { Duplex } from "node:stream";
import { headAt, headBytes } from "../session/messages.ts";
import { Rejection } from "../session/rejection.ts";
import { nextChunk } from "./next-chunk.ts";

export interface Message {
  type: string;
  body: Buffer;
  /** With its head. */
  whole: Buffer;
}

/** Reads messages of Postgres's protocol one by one from a paused stream. */
export class MessageReader {
  readonly #stream: Duplex;
  #received: Buffer;

  constructor(stream: Duplex, received: Buffer) {
    this.#stream = stream;
    this.#received = received;
  }

  /** Bytes received beyond the messages that were read. */
  get rest(): Buffer {
    return this.#received;
  }

  /** Rejects with `Rejection` where the stream ends, or the message is longer than `longest` bytes. */
  async next(longest: number): Promise<Message> {
    for (;;) {
      const received = this.#received;
      const head = headAt(received, 0);
      if (head && (head.length < 4 || head.length > longest)) {
        throw new Rejection("08P01", "invalid length of a message");
      }
      if (head && received.length >= head.end) {
        this.#received = received.subarray(head.end);
        const whole = received.subarray(0, head.end);
        return { type: String.fromCharCode(head.type), body: whole.subarray(headBytes), whole };
      }
      await this.#read(head?.end ?? headBytes);
    }
  }

  /** Reads on until so many bytes are there, and puts them together once: each may come in a piece of its own. */
  async #read(bytes: number): Promise<void> {
    const pieces = [this.#received];
    for (let count = this.#received.length; count < bytes; count += pieces.at(-1)?.length ?? 0) {
      pieces.push(await nextChunk(this.#stream));
    }
    this.#received = Buffer.concat(pieces);
  }
}
