import { asFullDisk } from "../temporary-disk.ts";

const errorType = 0x45;

/** The longest error that is looked at, in bytes: a client may raise one of a gigabyte. */
const longestError = 1024 ** 2;

/** Follows the messages of a server after its login, and has a full temporary disk look as one. */
export class DiskErrors {
  /** Bytes still to pass of a message that is no error. */
  #passing = 0;
  /** The beginning of a message: of any one its head, of an error what there is. */
  #held: Buffer = Buffer.alloc(0);

  /** The bytes to send to the client. */
  push(chunk: Buffer): Buffer {
    const received = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const out: Buffer[] = [];
    let sent = 0;
    let at = Math.min(this.#passing, received.length);
    this.#passing -= at;
    while (received.length - at >= 5) {
      const length = received.readUInt32BE(at + 1);
      const end = at + 1 + length;
      if (received[at] !== errorType || length > longestError) {
        this.#passing = Math.max(0, end - received.length);
        at = Math.min(end, received.length);
      } else if (end > received.length) {
        break;
      } else {
        const changed = changedError(received.subarray(at + 5, end));
        if (changed) {
          out.push(received.subarray(sent, at), changed);
          sent = end;
        }
        at = end;
      }
    }
    this.#held = received.subarray(at);
    out.push(received.subarray(sent, at));
    return out.length === 1 ? (out[0] ?? Buffer.alloc(0)) : Buffer.concat(out);
  }
}

/** The error as the client is to see it; `undefined` where it stays as it is. */
function changedError(body: Buffer): Buffer | undefined {
  // Most errors are none of these: the code is found without taking all fields apart.
  if (!body.includes("C53400\0", 0, "latin1")) return undefined;
  const fields = body
    .toString("utf8")
    .split("\0")
    .filter((field) => field !== "");
  const valueOf = (type: string) => fields.find((field) => field.startsWith(type))?.slice(1);
  const full = asFullDisk({ code: valueOf("C"), message: valueOf("M") ?? "" });
  if (!full) return undefined;
  const shown: Readonly<Record<string, string>> = { C: full.code, M: full.message };
  const changed = fields.map((field) => `${field[0] ?? ""}${shown[field[0] ?? ""] ?? field.slice(1)}\0`).join("");
  const text = Buffer.from(`${changed}\0`);
  const head = Buffer.from("E\0\0\0\0", "latin1");
  head.writeUInt32BE(text.length + 4, 1);
  return Buffer.concat([head, text]);
}
