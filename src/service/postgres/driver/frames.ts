/** The kinds of frames (RFC 6455). */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** The longest content of a frame that controls the connection, in bytes. */
const longestControl = 125;

/** The most frames of one chunk that bring no content: each costs as much as one that does. */
const mostEmpty = 1000;

/** The client breaks the protocol: the connection ends. */
export class BrokenFrame extends Error {
  override name = "BrokenFrame";
}

export interface FrameEvents {
  /** The content of messages in a chunk, in one piece: a client may send each byte in a frame of its own. */
  data(piece: Buffer): void;
  /** The last ping of a chunk: a client may send thousands in one, and the newest may be answered for all. */
  ping(content: Buffer): void;
  close(): void;
}

/**
 * Reads the frames of a client, and passes their content on as it comes. However long a frame says that it is, at
 * most one chunk of it is held, and at most 125 bytes of a frame that controls the connection.
 */
export class FrameReader {
  readonly #events: FrameEvents;
  /** The beginning of a frame that is not complete: its head, or all of one that controls. */
  #held: Buffer = Buffer.alloc(0);
  /** Bytes still to come of the frame whose content is passed on. */
  #left = 0;
  readonly #mask: Buffer = Buffer.alloc(4);
  /** The part of the chunk that is to be passed on: the content of its frames, each moved behind the one before. */
  #content = { from: 0, to: 0 };
  #ping: Buffer | undefined;
  /** Frames of the chunk without content, or that control the connection. */
  #empty = 0;
  /** Bytes of the frame's content read so far: the place of a byte decides its mask. */
  #place = 0;

  constructor(events: FrameEvents) {
    this.#events = events;
  }

  /** Reads the next bytes, and overwrites them. Throws `BrokenFrame`. */
  push(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let at = 0;
    this.#empty = 0;
    this.#content = { from: 0, to: 0 };
    try {
      while (at < bytes.length) {
        const used = this.#left > 0 ? this.#take(bytes, at) : this.#head(bytes, at);
        if (used === 0) break;
        at += used;
      }
    } finally {
      this.#pass(bytes);
    }
    this.#held = Buffer.from(bytes.subarray(at));
    const ping = this.#ping;
    this.#ping = undefined;
    if (ping) this.#events.ping(ping);
  }

  #take(bytes: Buffer, at: number): number {
    const length = Math.min(this.#left, bytes.length - at);
    this.#left -= length;
    this.#place = unmask(bytes, { at, length, to: this.#content.to }, this.#mask, this.#place);
    this.#content.to += length;
    return length;
  }

  #pass(bytes: Buffer): void {
    const { from, to } = this.#content;
    this.#content.from = to;
    if (to > from) this.#events.data(bytes.subarray(from, to));
  }

  /** The length of a frame's head, or of a whole frame that controls; 0 where it is not complete. */
  #head(bytes: Buffer, at: number): number {
    const [first = 0, second] = [bytes[at], bytes[at + 1]];
    const opcode = first & 0x0f;
    if ((first & 0x70) !== 0 || (second !== undefined && (second & 0x80) === 0))
      throw new BrokenFrame("not a client's frame");
    if ((opcode > opcodes.binary && opcode < opcodes.close) || opcode > opcodes.pong) {
      throw new BrokenFrame("a frame of an unknown kind");
    }
    const short = (second ?? 0) & 0x7f;
    const isControl = opcode >= opcodes.close;
    if (isControl && ((first & 0x80) === 0 || short > longestControl))
      throw new BrokenFrame("a long frame that controls");
    const lengthBytes = short < 126 ? 0 : short === 126 ? 2 : 8;
    const head = 2 + lengthBytes + 4;
    if (bytes.length - at < head) return 0;
    const length = lengthBytes === 0 ? short : lengthOf(bytes.subarray(at + 2, at + 2 + lengthBytes));
    if (isControl || length === 0) this.#empty += 1;
    if (this.#empty > mostEmpty) throw new BrokenFrame("very many frames without content");
    if (isControl) return this.#control(bytes, { at, head, length, opcode });
    bytes.copy(this.#mask, 0, at + head - 4, at + head);
    this.#left = length;
    this.#place = 0;
    return head;
  }

  #control(bytes: Buffer, { at, head, length, opcode }: Control): number {
    if (bytes.length - at < head + length) return 0;
    const content = Buffer.from(bytes.subarray(at + head, at + head + length));
    unmask(content, { at: 0, length, to: 0 }, bytes.subarray(at + head - 4, at + head), 0);
    if (opcode === opcodes.ping) this.#ping = content;
    if (opcode === opcodes.close) {
      this.#pass(bytes);
      this.#events.close();
    }
    return head + length;
  }
}

/** A frame that controls the connection, by its place in a chunk. */
interface Control {
  at: number;
  head: number;
  length: number;
  opcode: number;
}

/** A length in two or eight bytes. A length too large for an exact number is rounded: no client sends so much. */
function lengthOf(bytes: Buffer): number {
  return bytes.length === 2 ? bytes.readUInt16BE(0) : Number(bytes.readBigUInt64BE(0));
}

/** Takes the mask off, and moves the bytes towards the front; answers the place of the next byte. */
function unmask(
  bytes: Buffer,
  { at, length, to }: { at: number; length: number; to: number },
  mask: Buffer,
  from: number,
) {
  for (let index = 0; index < length; index += 1)
    bytes[to + index] = (bytes[at + index] ?? 0) ^ (mask[(from + index) & 3] ?? 0);
  return (from + length) & 3;
}

/** The head of a frame of the server: such frames have no mask. */
export function frameHead(opcode: number, length: number): Buffer {
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  head[0] = 0x80 | opcode;
  if (length < 126) head[1] = length;
  else if (length < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return head;
}
