/** A scalar of a manifest, as the API server is sent it. */
export type ScalarValue = string | number | boolean | null;

const words: ReadonlyMap<string, ScalarValue> = new Map<string, ScalarValue>([
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
]);

/**
 * A scalar without quotes as kubectl reads it (`resolve` of go-yaml 2, in sigs.k8s.io/yaml): words and numbers are
 * those of YAML 1.1 with Go's prefixes, so `010` and `0o10` are 8 and `yes` is true. Times and base 60 are text.
 */
export function plainScalar(text: string): ScalarValue {
  const word = words.get(text);
  if (word !== undefined) return word;
  if (!/^[-+.0-9]/.test(text)) return text;
  const digits = text.replaceAll(text.startsWith(".") ? /(?<=\d)_(?=\d)/g : "_", "");
  const whole = /^([-+]?)0(?:[xX]([0-9a-fA-F]+)|[bB]([01]+)|[oO]?([0-7]+))$/.exec(digits);
  if (whole !== null) {
    const [, sign, hex, binary, octal = ""] = whole;
    const size = hex !== undefined ? Number.parseInt(hex, 16) : Number.parseInt(binary ?? octal, binary ? 2 : 8);
    return sign === "-" ? 0 - size : size;
  }
  if (!/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(digits)) return text;
  // JSON has no -0.
  const number = Number(digits) + 0;
  return Number.isFinite(number) ? number : text;
}
