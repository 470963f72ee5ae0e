import { isRecord } from "../../operator/objects/record.ts";
import { branchIDs } from "../../operator/resources/compute-spec.ts";
import { type OurKind, schemaAt } from "./check-fields.ts";

/**
 * A way out for a field that does not fit, where its value shows the mistake: quotes that are too many or missing,
 * one end of a size, a name in place of an id. `message` is what the schema says.
 */
export function hintFor(
  kind: OurKind,
  path: readonly (string | number)[],
  object: Record<string, unknown>,
  message: string,
): string | undefined {
  const value = valueAt(object, path);
  const field = path.at(-1);
  if (value === undefined || value === null) {
    const isEnd = path.at(-2) === "computeUnits" && (field === "min" || field === "max");
    if (isEnd) return "is missing: computeUnits takes both min and max, for example {min: 0.25, max: 2}";
    const needed = /^Invalid input: expected (\w+), received undefined$/.exec(message)?.[1];
    return needed === undefined ? undefined : `is needed: ${needed}`;
  }
  if (field === "branchID" && typeof value === "string" && !branchIDs.written(value)) return branchIDs.message;
  const type = schemaAt(kind, path)?.type;
  if ((type === "number" || type === "integer") && typeof value === "string" && isNumber(value)) {
    return `must be a number: remove the quotes (${value}, not "${value}")`;
  }
  if (type === "boolean" && (value === "true" || value === "false")) {
    return `must be true or false: remove the quotes (${value}, not "${value}")`;
  }
  const isBare = typeof value === "number" || typeof value === "boolean";
  return type === "string" && isBare ? `must be text: add quotes ("${value}")` : undefined;
}

function isNumber(text: string): boolean {
  return text.trim() !== "" && Number.isFinite(Number(text));
}

function valueAt(object: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>((within, step) => {
    if (Array.isArray(within)) return within[Number(step)];
    return isRecord(within) ? within[String(step)] : undefined;
  }, object);
}
