import { Units } from "./units.ts";

/** The JSON of a value's text. */
export type Written = (text: string) => string;

/** The most characters of arrays in a row that are read. Where each begins an element, that takes some milliseconds. */
export const longestArrays = 250_000;

/**
 * The way in which the public service writes values of a type for clients that do not ask for text, as the vendor's
 * driver does: booleans, numbers that JavaScript keeps, JSON and arrays as such. `undefined` for others: as text.
 */
export function jsonOfType(dataTypeID: number): Written | undefined {
  const element = arrays.get(dataTypeID);
  return element === undefined ? scalars.get(dataTypeID) : (text) => arrayJSON(text, element);
}

/** True of a type whose values are written as arrays. */
export function isArray(dataTypeID: number): boolean {
  return arrays.has(dataTypeID);
}

const quoted: Written = (text) => JSON.stringify(text);
const asIs: Written = (text) => text;
/** JSON has no `NaN` and no infinity. */
const float: Written = (text) => (/^-?\d/.test(text) ? text : quoted(text));

/** By the number of a type: `bool`, `int2`, `int4`, `float4`, `float8`, `json` and `jsonb`. */
const scalars: ReadonlyMap<number, Written> = new Map([
  [16, (text) => String(text === "t")],
  [21, asIs],
  [23, asIs],
  [700, float],
  [701, float],
  [114, asIs],
  [3802, asIs],
]);

/** The type of the elements by that of the array: a zero where both are text. */
const arrays: ReadonlyMap<number, number> = new Map([
  [1000, 16],
  [1005, 21],
  [1007, 23],
  [1021, 700],
  [1022, 701],
  [199, 114],
  [3807, 3802],
  // All others of Postgres's own but that of `box`, whose elements are separated otherwise.
  ...[
    143, 271, 629, 651, 719, 775, 791, 1001, 1002, 1003, 1006, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 1015, 1016,
    1017, 1018, 1019, 1027, 1028, 1034, 1040, 1041, 1115, 1182, 1183, 1185, 1187, 1231, 1263, 1270, 1561, 1563, 2201,
    2207, 2208, 2209, 2210, 2211, 2949, 2951, 3221, 3643, 3645, 3735, 3770, 3905, 3907, 3909, 3911, 3913, 3927, 4073,
    4090, 4097, 4192, 5039, 6150, 6151, 6152, 6153, 6155, 6157,
  ].map((dataTypeID) => [dataTypeID, 0] as const),
]);

/**
 * The JSON of an array's text, unit by unit: a pattern with a call for each element took 50 ms for the longest, and
 * what many sessions of an account ask for is made in one turn of the loop.
 */
function arrayJSON(text: string, element: number): string {
  const isText = !scalars.has(element);
  const json = new Units(6 * text.length);
  // Bounds may come first, which JSON has no place for.
  for (let at = text.indexOf("{"); at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === code.brace) json.add(code.bracket);
    else if (unit === code.endBrace) json.add(code.endBracket);
    else if (unit === code.comma) json.add(unit);
    else if (unit === code.quote) {
      if (isText) json.add(code.quote);
      for (at += 1; at < text.length && text.charCodeAt(at) !== code.quote; at += 1) {
        if (text.charCodeAt(at) === code.backslash) at += 1;
        if (isText) addInText(json, text.charCodeAt(at));
        else json.add(text.charCodeAt(at));
      }
      if (isText) json.add(code.quote);
    } else {
      const end = endOf(text, at);
      if (end - at === 4 && text.startsWith("NULL", at)) json.addAll("null");
      else if (element === 16) json.addAll(unit === code.t ? "true" : "false");
      else {
        // JSON has no `NaN` and no infinity.
        const inQuotes = isText || /[IN]/.test(text.charAt(unit === code.minus ? at + 1 : at));
        if (inQuotes) json.add(code.quote);
        for (let of = at; of < end; of += 1) addInText(json, text.charCodeAt(of));
        if (inQuotes) json.add(code.quote);
      }
      at = end - 1;
    }
  }
  return json.text();
}

/** The end of an element without quotes. */
function endOf(text: string, begin: number): number {
  for (let at = begin; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === code.comma || unit === code.endBrace) return at;
  }
  return text.length;
}

/** Adds a unit within a text of JSON, which may take six. */
function addInText(json: Units, unit: number): void {
  if (unit < 0x20 || unit === code.quote || unit === code.backslash)
    json.addAll(JSON.stringify(String.fromCharCode(unit)).slice(1, -1));
  else json.add(unit);
}

const code = {
  quote: 0x22,
  comma: 0x2c,
  minus: 0x2d,
  bracket: 0x5b,
  backslash: 0x5c,
  endBracket: 0x5d,
  t: 0x74,
  brace: 0x7b,
  endBrace: 0x7d,
};
