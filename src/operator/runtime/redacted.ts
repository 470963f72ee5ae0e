import { inspect } from "node:util";

const redacted = "[redacted]";

/** A secret text. Printed, logged or serialised, it always shows as `[redacted]`. */
export abstract class Redacted {
  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [inspect.custom](): string {
    return redacted;
  }
}
