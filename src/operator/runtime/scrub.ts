import { OperationalError } from "./operational-error.ts";

const hidden = "[redacted]";

/** Members whose value is always hidden; compared without case, `-` and `_`. */
const secretNames = new Set([
  "authorization",
  "proxyauthorization",
  "cookie",
  "setcookie",
  "headers",
  "apikey",
  "token",
  "bearertoken",
  "password",
  "uri",
  "connectionuri",
]);

const deepest = 6;
const mostItems = 50;
const longestText = 4096;

/**
 * A copy of the log fields without credentials: hides members named like a header or a key, and `Bearer …` and the
 * credentials of a URL anywhere in a text. Of an error only name, message, status, reason, code, cause and stack are
 * kept, because libraries attach whole requests to their errors; the stack only if the error is a defect of this
 * program, not an `OperationalError`.
 */
export function scrub(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return scrubMembers(fields, 0);
}

function scrubMembers(fields: Readonly<Record<string, unknown>>, depth: number): Record<string, unknown> {
  const clean: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (secretNames.has(name.toLowerCase().replaceAll(/[-_]/g, ""))) clean[name] = hidden;
    else clean[name] = scrubValue(value, depth + 1);
  }
  return clean;
}

function scrubValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return scrubText(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return typeof value === "function" ? undefined : value;
  if (depth > deepest) return "[…]";
  if (value instanceof Error) return scrubError(value, depth);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if ("toJSON" in value && typeof value.toJSON === "function") return scrubValue(value.toJSON(), depth + 1);
  if (Array.isArray(value)) return value.slice(0, mostItems).map((item) => scrubValue(item, depth + 1));
  if (value instanceof Set) return scrubValue([...value], depth);
  if (value instanceof Map) return scrubMembers(Object.fromEntries(value), depth);
  return scrubMembers(Object.fromEntries(Object.entries(value)), depth);
}

function scrubText(text: string): string {
  const short = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  return short
    .replaceAll(/\b(bearer|basic)\s+[^\s"',;]+/gi, `$1 ${hidden}`)
    .replaceAll(/(:\/\/[^\s/:@]*):[^\s/@]+@/g, `$1:${hidden}@`);
}

function scrubError(error: Error, depth: number, isExplained = false): Record<string, unknown> {
  const isOperational = isExplained || error instanceof OperationalError;
  const clean: Record<string, unknown> = { name: error.name, message: scrubText(error.message) };
  for (const name of ["status", "reason", "code"]) {
    const value: unknown = Reflect.get(error, name);
    if (typeof value === "string" || typeof value === "number") clean[name] = scrubValue(value, depth);
  }
  const { cause } = error;
  const deeper = depth < deepest && cause instanceof Error;
  if (cause !== undefined)
    clean.cause = deeper ? scrubError(cause, depth + 1, isOperational) : scrubValue(cause, depth + 1);
  if (error.stack !== undefined && (!isOperational || isDefect(error))) clean.stack = scrubText(error.stack);
  return clean;
}

/** True for errors that the language throws for a defect of the program, also as the cause of an `OperationalError`. */
function isDefect(error: Error): boolean {
  const defects = [TypeError, ReferenceError, RangeError];
  return defects.some((defect) => error instanceof defect) && !("code" in error);
}
