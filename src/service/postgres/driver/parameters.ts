import { Rejection } from "../session/rejection.ts";
import { Units } from "./units.ts";

/** Dimensions that an array of Postgres has at most. */
const mostDimensions = 6;

/** A number as the body writes it, where JavaScript would write it otherwise: `9007199254740993`, `1.0`, `1e400`. */
class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The content of a body; `undefined` where it is no JSON. Numbers keep their digits. */
export function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body, exactly);
  } catch {
    return undefined;
  }
}

function exactly(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source;
  return typeof value === "number" && source !== undefined && source !== String(value)
    ? new ExactNumber(source)
    : value;
}

/**
 * The text of a parameter, as the vendor's service makes it: an array becomes an array of Postgres, an object JSON. The
 * driver itself sends strings. Throws `Rejection`.
 */
export function parameterText(value: unknown): string | null {
  if (value === null) return null;
  if (typeof value === "string") return value;
  try {
    return Array.isArray(value) ? arrayText(value, 1) : jsonText(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Rejection("54000", "a parameter is nested too deeply");
  }
}

function arrayText(values: readonly unknown[], dimension: number): string {
  if (dimension > mostDimensions) {
    throw new Rejection("54000", `a parameter is an array of more than ${mostDimensions} dimensions`);
  }
  return `{${values.map((value) => elementText(value, dimension)).join(",")}}`;
}

/** Strings are quoted: without quotes NULL, braces, commas, spaces and nothing at all would mean something else. */
function elementText(value: unknown, dimension: number): string {
  if (value === null) return "NULL";
  if (Array.isArray(value)) return arrayText(value, dimension + 1);
  const text = typeof value === "string" ? value : jsonText(value);
  const plain = typeof value === "boolean" || typeof value === "number" || value instanceof ExactNumber;
  return plain ? text : `"${escaped(text)}"`;
}

/** The units of a text that are looked at together. */
const together = 16_384;

/** A text with a backslash before each quote and each backslash: of millions, a pattern would take seconds. */
function escaped(text: string): string {
  let whole = "";
  for (let at = 0; at < text.length; at += together) {
    const part = text.slice(at, at + together);
    whole += /["\\]/.test(part) ? escapedUnits(part) : part;
  }
  return whole;
}

function escapedUnits(part: string): string {
  const units = new Units(2 * part.length);
  for (let at = 0; at < part.length; at += 1) {
    const unit = part.charCodeAt(at);
    if (unit === 0x22 || unit === 0x5c) units.add(0x5c);
    units.add(unit);
  }
  return units.text();
}

function jsonText(value: unknown): string {
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${jsonText(member)}`);
  return `{${members.join(",")}}`;
}
