/** The parameters of a connection, such as `user`, `database` and `options`. */
export type Parameters = ReadonlyMap<string, string>;

/** The packet that begins a connection. */
export function startupPacket(version: number, parameters: Parameters): Buffer {
  const body = Buffer.from(`${[...parameters].map(([name, value]) => `${name}\0${value}\0`).join("")}\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(body.length + 8, 0);
  head.writeUInt32BE(version, 4);
  return Buffer.concat([head, body]);
}

/** A message of Postgres's protocol: its type, the length of what follows that, and its body. */
export function message(type: string, body: string | Buffer): Buffer {
  const content = Buffer.from(body);
  const head = Buffer.from(`${type}\0\0\0\0`, "latin1");
  head.writeUInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
}

/** The head of a message: its type, which is a byte here, the length that it gives, and its end among the bytes. */
export interface Head {
  type: number;
  length: number;
  end: number;
}

/** The head of the message that begins at a place; `undefined` where it is not complete. */
export function headAt(bytes: Buffer, at: number): Head | undefined {
  if (bytes.length - at < headBytes) return undefined;
  const length = bytes.readUInt32BE(at + 1);
  return { type: bytes[at] ?? 0, length, end: at + 1 + length };
}

/** Length of a head, in bytes: the type, and the length of what follows the type. */
export const headBytes = 5;

/** Decides about the messages of one side by their types, which are bytes here. */
export interface MessageRules {
  /** True for a message that is held until it is whole; any other passes as it comes. Throws `Rejection`. */
  holds(type: number, length: number): boolean;
  /** The message in place of a held one; `undefined` for that one itself. Throws `Rejection`. */
  replaced(type: number, body: Buffer): Buffer | undefined;
}

/** Follows the messages of one side, and lets them pass by rules. */
export class MessageFilter {
  readonly #rules: MessageRules;
  /** Bytes still to pass of a message that is not held. */
  #passing = 0;
  /** The beginning of a message, and room for the rest: of any one for its head, of a held one for all of it. */
  #held: { bytes: Buffer; length: number } | undefined;

  constructor(rules: MessageRules) {
    this.#rules = rules;
  }

  /** The bytes to send to the other side. Throws `Rejection`. */
  push(chunk: Buffer): Buffer {
    const received = this.#completed(chunk);
    if (!received) return Buffer.alloc(0);
    const out: Buffer[] = [];
    let sent = 0;
    let at = Math.min(this.#passing, received.length);
    this.#passing -= at;
    for (let head = headAt(received, at); head; head = headAt(received, at)) {
      const { type, length, end } = head;
      if (!this.#rules.holds(type, length)) {
        this.#passing = Math.max(0, end - received.length);
        at = Math.min(end, received.length);
        continue;
      }
      if (end > received.length) break;
      const replacement = this.#rules.replaced(type, received.subarray(at + headBytes, end));
      if (replacement) {
        out.push(received.subarray(sent, at), replacement);
        sent = end;
      }
      at = end;
    }
    this.#hold(received.subarray(at));
    out.push(received.subarray(sent, at));
    return out.length === 1 ? (out[0] ?? Buffer.alloc(0)) : Buffer.concat(out);
  }

  #hold(begun: Buffer): void {
    const wanted = headAt(begun, 0)?.end ?? headBytes;
    this.#held = begun.length === 0 ? undefined : { bytes: Buffer.allocUnsafe(wanted), length: begun.length };
    if (this.#held) begun.copy(this.#held.bytes);
  }

  /** A chunk behind what is held; `undefined` where that is not complete yet. Each byte of a message may be a chunk. */
  #completed(chunk: Buffer): Buffer | undefined {
    const held = this.#held;
    if (!held) return chunk;
    const used = chunk.copy(held.bytes, held.length);
    held.length += used;
    if (held.length < held.bytes.length) return undefined;
    return used === chunk.length ? held.bytes : Buffer.concat([held.bytes, chunk.subarray(used)]);
  }
}
