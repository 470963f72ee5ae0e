import { BodyTooLarge, bodyText } from "../runtime/http.ts";

/** What is read of the service's answers at the most. */
export interface BodyBounds {
  /** Bytes of all answers that are being read at one time. */
  together: number;
  /** How many objects and lists may lie within one another. */
  deepest: number;
}

/** The body of an answer as it comes in. */
export type IncomingBody = AsyncIterable<Uint8Array> & { destroy(error?: Error): unknown };

/**
 * Reads the bodies of all answers within bounds that they share. Where they grow too large together, the largest of
 * them is given up, so that a service that sends without end spoils its own answers and nobody else's.
 */
export class Bodies {
  readonly #bounds: BodyBounds;
  readonly #reading = new Map<IncomingBody, number>();

  constructor(bounds: BodyBounds) {
    this.#bounds = bounds;
  }

  /** The whole body; rejects where it is cut off, larger than `most` bytes, or the one that was given up. */
  async text(body: IncomingBody, most: number): Promise<string> {
    try {
      return await bodyText(body, most, (size) => {
        this.#reading.set(body, size);
        this.#relieve();
      });
    } finally {
      this.#reading.delete(body);
    }
  }

  /** What a body holds, where it is JSON and no deeper than allowed. */
  parsed(text: string): { body: unknown; json: boolean } {
    if (text === "" || isDeeperThan(text, this.#bounds.deepest)) return { body: undefined, json: false };
    try {
      return { body: JSON.parse(text), json: true };
    } catch {
      return { body: undefined, json: false };
    }
  }

  #relieve(): void {
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

/** Whether brackets outside of strings open more often than they close by more than `deepest`. */
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

/** Where the string that begins at `start` ends: at the next quote with an even number of backslashes before it. */
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
