/**
 * Follows what a server says first, up to its first `ReadyForQuery`, and puts another key for cancelling in the place
 * of its own. Everything else goes on as it came.
 */
export class Greeting {
  readonly #key: Buffer;
  readonly #onKey: (key: Buffer) => void;
  #rest = Buffer.alloc(0);
  #over = false;

  /** `onKey` receives the server's own key. */
  constructor(key: Buffer, onKey: (key: Buffer) => void) {
    this.#key = key;
    this.#onKey = onKey;
  }

  /** The bytes of a chunk to send to the client. */
  push(chunk: Buffer): Buffer {
    if (this.#over) return chunk;
    const received = Buffer.concat([this.#rest, chunk]);
    const out: Buffer[] = [];
    let at = 0;
    while (!this.#over && received.length - at >= 5) {
      const end = at + 1 + received.readUInt32BE(at + 1);
      if (end > received.length) break;
      out.push(this.#message(received.subarray(at, end)));
      at = end;
    }
    this.#rest = received.subarray(at);
    if (this.#over) {
      out.push(this.#rest);
      this.#rest = Buffer.alloc(0);
    }
    return Buffer.concat(out);
  }

  #message(message: Buffer): Buffer {
    const type = String.fromCharCode(message[0] ?? 0);
    if (type === "Z") this.#over = true;
    if (type !== "K") return message;
    this.#onKey(Buffer.from(message.subarray(5)));
    const head = Buffer.from("K\0\0\0\0", "latin1");
    head.writeUInt32BE(this.#key.length + 4, 1);
    return Buffer.concat([head, this.#key]);
  }
}
