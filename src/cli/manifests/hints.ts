import { asRecord, isRecord } from "../../operator/objects/record.ts";
import { branchIDs } from "../../operator/resources/compute-spec.ts";
import { schemaAt } from "./check-fields.ts";
import type { OurKind } from "./kinds.ts";
import { plainScalar } from "./plain-scalar.ts";

/**
 * A way out for a field that does not fit, where its value shows the mistake: quotes that are too many or missing,
 * one end of a size, a name in place of an id. `message` is what the schema says, `plain` the text of the field where
 * it stands without quotes, `asText` what the schema says once it has them.
 */
export function hintFor(
  kind: OurKind,
  path: readonly (string | number)[],
  object: Record<string, unknown>,
  {
    message,
    plain,
    asText,
  }: { message: string; plain: string | undefined; asText: (text: string) => string | undefined },
): string | undefined {
  const value = valueAt(object, path);
  const field = path.at(-1);
  if (value === undefined || value === null) {
    const isEnd = path.at(-2) === "computeUnits" && (field === "min" || field === "max");
    if (isEnd) return "is missing: computeUnits takes both min and max, for example {min: 0.25, max: 2}";
    const needed = /^Invalid input: expected (\w+), received (?:undefined|null)$/.exec(message)?.[1];
    return needed === undefined ? undefined : `is needed: ${needed}`;
  }
  if (field === "branchID" && typeof value === "string" && !branchIDs.written(value)) return branchIDs.message;
  const type = path[0] === "metadata" ? "string" : schemaAt(kind, path)?.type;
  if (type === "string") {
    if (typeof value !== "number" && typeof value !== "boolean") return undefined;
    const text = plain ?? String(value);
    return asText(text) ?? `must be text: add quotes ("${text}")`;
  }
  if (message === "Invalid input: expected true" && value === false) return "must be true, or left out";
  if (/^Invalid input: expected (?:object|record), /.test(message)) return fieldsOf(kind, path);
  if (typeof value !== "string") return undefined;
  if ((type === "number" || type === "integer") && isNumber(value)) {
    return `must be a number: remove the quotes (${Number(value)}, not "${value}")`;
  }
  const word = plainScalar(value);
  const isWord = type === "boolean" && typeof word === "boolean";
  return isWord ? `must be true or false: remove the quotes (${word}, not "${value}")` : undefined;
}

/** The fields that belong into an object, of which only a value is given. */
function fieldsOf(kind: OurKind, path: readonly (string | number)[]): string | undefined {
  const fields = path[0] === "spec" ? Object.keys(schemaAt(kind, path)?.properties ?? {}) : [];
  return fields.length === 0 ? undefined : `takes fields: ${fields.toSorted().join(", ")}`;
}

function isNumber(text: string): boolean {
  return text.trim() !== "" && Number.isFinite(Number(text));
}

/** A copy of an object with another value at `path`. */
export function withValueAt(object: unknown, path: readonly (string | number)[], value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (Array.isArray(object)) {
    const items: unknown[] = object;
    return items.map((item, index) => (index === Number(step) ? withValueAt(item, rest, value) : item));
  }
  return { ...asRecord(object), [step]: withValueAt(asRecord(object)[step], rest, value) };
}

function valueAt(object: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((within, step) => {
    if (Array.isArray(within)) return within[Number(step)];
    return isRecord(within) ? within[String(step)] : undefined;
  }, object);
}
