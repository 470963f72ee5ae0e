import type { Fields, Kind } from "./manifest.ts";

/** A way in which a manifest is refused, and one like it that passes. */
export interface RuleCase {
  readonly kind: Kind;
  readonly rule: string;
  readonly refused: Fields;
  /** Part of the API server's answer: it names what is allowed. */
  readonly message: string | RegExp;
  readonly passes: Fields;
}
