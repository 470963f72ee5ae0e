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
  /** A piece of the content of messages. */
  data(piece: Buffer): void;
  /** The last ping of a chunk: a client may send thousands in one, and the newest may be answered for all. */
  ping(content: Buffer): void;
  close(): void;
}

/**
 * Reads the frames of a client, and passes their content on as it comes. A frame may say that it has any length: no
 * more of it is held than what one chunk brings, and of a frame that controls the connection 125 bytes.
 */
export class FrameReader {
  readonly #events: FrameEvents;
  /** The beginning of a frame that is not complete: its head, or all of one that controls. */
  #held: Buffer = Buffer.alloc(0);
  /** Bytes still to come of the frame whose content is passed on. */
  #left = 0;
  #mask: Buffer = Buffer.alloc(4);
  #ping: Buffer | undefined;
  /** Frames of the chunk without content, or that control the connection. */
  #empty = 0;
  /** Bytes of the frame so far: each is masked by its place. */
  #place = 0;

  constructor(events: FrameEvents) {
    this.#events = events;
  }

  /** Throws `BrokenFrame`. */
  push(chunk: Buffer): void {
    let rest = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = Buffer.alloc(0);
    this.#empty = 0;
    while (rest.length > 0) {
      const used = this.#left > 0 ? this.#content(rest) : this.#head(rest);
      if (used === 0) break;
      rest = rest.subarray(used);
    }
    this.#held = Buffer.from(rest);
    const ping = this.#ping;
    this.#ping = undefined;
    if (ping) this.#events.ping(ping);
  }

  #content(bytes: Buffer): number {
    const piece = bytes.subarray(0, this.#left);
    this.#left -= piece.length;
    this.#place = unmask(piece, this.#mask, this.#place);
    this.#events.data(piece);
    return piece.length;
  }

  /** The length of a frame's head, or of a whole frame that controls; 0 where it is not complete. */
  #head(bytes: Buffer): number {
    const [first = 0, second = 0] = bytes;
    const opcode = first & 0x0f;
    if ((first & 0x70) !== 0 || (bytes.length > 1 && (second & 0x80) === 0))
      throw new BrokenFrame("not a client's frame");
    if ((opcode > opcodes.binary && opcode < opcodes.close) || opcode > opcodes.pong) {
      throw new BrokenFrame("a frame of an unknown kind");
    }
    const short = second & 0x7f;
    const isControl = opcode >= opcodes.close;
    if (isControl && ((first & 0x80) === 0 || short > longestControl))
      throw new BrokenFrame("a long frame that controls");
    const lengthBytes = short < 126 ? 0 : short === 126 ? 2 : 8;
    const head = 2 + lengthBytes + 4;
    if (bytes.length < head) return 0;
    const length = lengthBytes === 0 ? short : lengthOf(bytes.subarray(2, 2 + lengthBytes));
    if (isControl || length === 0) this.#empty += 1;
    if (this.#empty > mostEmpty) throw new BrokenFrame("very many frames without content");
    const mask = bytes.subarray(head - 4, head);
    if (isControl) {
      if (bytes.length < head + length) return 0;
      const content = Buffer.from(bytes.subarray(head, head + length));
      unmask(content, mask, 0);
      if (opcode === opcodes.ping) this.#ping = content;
      if (opcode === opcodes.close) this.#events.close();
      return head + length;
    }
    this.#left = length;
    this.#mask = Buffer.from(mask);
    this.#place = 0;
    return head;
  }
}

/** A length in two or eight bytes; one that no number can say exactly is longer than any client sends. */
function lengthOf(bytes: Buffer): number {
  return bytes.length === 2 ? bytes.readUInt16BE(0) : Number(bytes.readBigUInt64BE(0));
}

/** Takes the mask off in place; answers the place of the next byte. */
function unmask(bytes: Buffer, mask: Buffer, from: number): number {
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = (bytes[at] ?? 0) ^ (mask[(from + at) & 3] ?? 0);
  return (from + bytes.length) & 3;
}

/** A frame of the server, which is not masked, without its content. */
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
