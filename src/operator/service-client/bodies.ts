import { BodyTooLarge, bodyText } from "../runtime/http.ts";

/** The limits for the service's answers. */
export interface BodyBounds {
  /** Bytes of all answers that are being read at the same time. */
  together: number;
  /** The deepest nesting of objects and lists. */
  deepest: number;
}

/** The body of an answer that is being received. */
export type IncomingBody = AsyncIterable<Uint8Array> & { destroy(error?: Error): unknown };

/**
 * Reads the bodies of all answers within a shared limit. If they grow too large together, the largest is given up, so a
 * service that sends without end fails its own requests and no others.
 */
export class Bodies {
  readonly #bounds: BodyBounds;
  readonly #reading = new Map<IncomingBody, number>();

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds;
  }

  /** The whole body; rejects if it is cut off, larger than `most` bytes, or was given up. */
  async text(body: IncomingBody, most: number): Promise<string> {
    try {
      return await bodyText(body, most, (size) => {
        this.#reading.set(body, size);
        this.#giveUpLargest();
      });
    } finally {
      this.#reading.delete(body);
    }
  }

  /** The parsed body, if it is JSON and not nested too deeply. */
  parsed(text: string): { body: unknown; json: boolean } {
    if (text === "" || isDeeperThan(text, this.#bounds.deepest)) return { body: undefined, json: false };
    try {
      return { body: JSON.parse(text), json: true };
    } catch {
      return { body: undefined, json: false };
    }
  }

  #giveUpLargest(): void {
    const { together } = this.#bounds;
    let sum = 0;
    let largest: { body: IncomingBody; size: number } | undefined;
    for (const [body, size] of this.#reading) {
      sum += size;
      if (size > (largest?.size ?? 0)) largest = { body, size };
    }
    if (sum > together)
      largest?.body.destroy(
        new BodyTooLarge(`the answer is the largest of some that are larger than ${together} bytes together`),
      );
  }
}

/** True if brackets outside strings nest more than `deepest` levels. */
function isDeeperThan(text: string, deepest: number): boolean {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = endOfString(text, at);
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > deepest) return true;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
  }
  return false;
}

/** The end of the string that begins at `start`: the next quote with an even number of backslashes before it. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0) {
    let before = end - 1;
    while (text.charCodeAt(before) === backslash) before -= 1;
    if ((end - before) % 2 === 1) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d];
