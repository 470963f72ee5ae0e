import { Duplex } from "node:stream";

/** The most bytes that are read in one turn of the loop. */
const sliceBytes = 2048;

/**
 * A connection of which few bytes are read in each turn of the loop, for a channel of TLS: that takes all that it is
 * given in one go, and nothing ends it amid that. A piece as long as Node reads has thousands of records which each
 * change a key, or break the channel, and many connections have one each. An error of the connection is its end.
 */
export class Slices extends Duplex {
  readonly #raw: Duplex;
  /** Bytes that are not passed on. */
  #rest: Buffer = Buffer.alloc(0);
  #isWanted = false;

  constructor(raw: Duplex) {
    super({ allowHalfOpen: false });
    this.#raw = raw;
    raw.on("data", (chunk: Buffer) => {
      raw.pause();
      this.#rest = chunk;
      this.#pass();
    });
    raw.pause();
    raw.once("end", () => this.push(null)).once("close", () => this.destroy());
  }

  override _read(): void {
    this.#isWanted = true;
    if (this.#rest.length > 0) setImmediate(() => this.#pass());
    else this.#raw.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#raw.write(chunk, () => done());
  }

  override _final(done: () => void): void {
    this.#raw.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#raw.destroy();
    done(error);
  }

  #pass(): void {
    if (!this.#isWanted || this.#rest.length === 0) return;
    this.#isWanted = false;
    const slice = this.#rest.subarray(0, sliceBytes);
    this.#rest = this.#rest.subarray(sliceBytes);
    this.push(slice);
  }
}
