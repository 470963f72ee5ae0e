/** The most that a JSON text may have of each. */
export interface JsonLimits {
  /** Arrays and objects within one another. */
  depth: number;
  /** Elements of one array, or fields of one object. */
  width: number;
  /** Values in all. */
  values: number;
  /** Bytes of one string. */
  string: number;
  /** Escapes in all strings: each takes the parser as long as a dozen bytes. */
  escapes: number;
  /** Bytes of the names of all fields, each with `perName` more: the parser looks for each among all that there are. */
  names: number;
}

/** Bytes that a name counts beside its own. */
const perName = 150;

const code = {
  quote: 0x22,
  comma: 0x2c,
  colon: 0x3a,
  array: 0x5b,
  backslash: 0x5c,
  arrayEnd: 0x5d,
  object: 0x7b,
  objectEnd: 0x7d,
};

/**
 * Counts what a JSON text has, byte by byte as it arrives and before it is parsed: parsing and checking a value costs
 * many times its bytes. A text that is no JSON is counted too, and found out by the parser.
 */
export class JsonSize {
  readonly #limits: JsonLimits;
  /** Commas in each array and object around the next byte. */
  readonly #commas: Uint32Array;
  #depth = 0;
  #values = 1;
  /** Bytes of the string around the next byte; `undefined` outside of strings. */
  #string: number | undefined;
  /** Bytes of the last string. */
  #last = 0;
  #names = 0;
  #isEscaped = false;
  #escapes = 0;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
    this.#commas = new Uint32Array(limits.depth + 1);
  }

  /** Counts the next bytes; answers the excess of the text as soon as it has one. */
  push(bytes: Uint8Array): string | undefined {
    let at = 0;
    while (at < bytes.length) {
      if (this.#string !== undefined) {
        const end = this.#endOfString(bytes, at);
        this.#string += end - at;
        if (this.#string > this.#limits.string) return `a string of more than ${this.#limits.string} bytes`;
        if (this.#escapes > this.#limits.escapes) return `more than ${this.#limits.escapes} escapes in strings`;
        this.#last = this.#string;
        if (end < bytes.length) this.#string = undefined;
        at = end + 1;
      } else {
        const excess = this.#count(bytes[at]);
        if (excess !== undefined) return excess;
        at += 1;
      }
    }
    return undefined;
  }

  /** The place of the quote that ends the string; the end of the bytes where it is not among them. */
  #endOfString(bytes: Uint8Array, from: number): number {
    let at = from;
    for (; at < bytes.length; at += 1) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (bytes[at] === code.backslash) {
        this.#isEscaped = true;
        this.#escapes += 1;
      } else if (bytes[at] === code.quote) break;
    }
    return at;
  }

  #count(byte = 0): string | undefined {
    const { depth, width, values, names } = this.#limits;
    switch (byte) {
      case code.quote:
        this.#string = 0;
        return undefined;
      case code.array:
      case code.object:
        this.#depth += 1;
        if (this.#depth > depth) return `more than ${depth} arrays and objects within one another`;
        this.#commas[this.#depth] = 0;
        this.#values += 1;
        break;
      case code.arrayEnd:
      case code.objectEnd:
        this.#depth = Math.max(0, this.#depth - 1);
        return undefined;
      case code.colon:
        this.#names += perName + this.#last;
        return this.#names > names ? `more names of fields than fit into ${names} bytes` : undefined;
      case code.comma: {
        const commas = (this.#commas[this.#depth] ?? 0) + 1;
        this.#commas[this.#depth] = commas;
        if (commas >= width) return `an array or an object with more than ${width} elements`;
        this.#values += 1;
        break;
      }
    }
    return this.#values > values ? `more than ${values} values` : undefined;
  }
}
