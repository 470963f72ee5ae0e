import type { ValidationIssue } from "../../operator/objects/object.ts";
import { isRecord } from "../../operator/objects/record.ts";
import { type StructuralSchema, structuralSchema } from "../../operator/resources/structural-schema.ts";
import { kinds, type OurKind } from "./kinds.ts";

/**
 * Fields that the kind does not have; `kubectl apply` refuses them too. Each with its path from the root of the object
 * and a message that lists the fields that are allowed there. `metadata` and `status` are not looked into.
 */
export function unknownFields(kind: OurKind, raw: Record<string, unknown>): ValidationIssue[] {
  const top = ["apiVersion", "kind", "metadata", "spec", "status"];
  const misplaced = Object.keys(raw)
    .filter((field) => !top.includes(field))
    .map((field) => ({ path: [field], message: unknown(top) }));
  return [...misplaced, ...unknownIn(structuralSchema(kinds[kind].spec, "spec"), raw.spec, ["spec"])];
}

/**
 * Allowed values of `adopt` and similar fields, if zod only says that the value does not match: the message of the CEL
 * rule at this path. `undefined` if no rule stands there.
 */
export function allowedAt(kind: OurKind, path: readonly (string | number)[]): string | undefined {
  const rules = schemaAt(kind, path)?.["x-kubernetes-validations"];
  const first: unknown = Array.isArray(rules) ? rules[0] : undefined;
  return isRecord(first) && typeof first.message === "string" ? first.message : undefined;
}

/** The schema of a field, by its path from the root of the object. */
export function schemaAt(kind: OurKind, path: readonly (string | number)[]): StructuralSchema | undefined {
  let schema: StructuralSchema | undefined = structuralSchema(kinds[kind].spec, "spec");
  for (const step of path.slice(1)) {
    schema = schema?.properties?.[String(step)] ?? schema?.additionalProperties ?? schema?.items;
  }
  return schema;
}

function unknownIn(schema: StructuralSchema, raw: unknown, path: readonly (string | number)[]): ValidationIssue[] {
  const { properties } = schema;
  if (properties === undefined || !isRecord(raw)) return [];
  return Object.entries(raw).flatMap(([field, value]) => {
    const known = Object.hasOwn(properties, field) ? properties[field] : undefined;
    if (known === undefined) return [{ path: [...path, field], message: unknown(Object.keys(properties)) }];
    return unknownIn(known, value, [...path, field]);
  });
}

function unknown(allowed: readonly string[]): string {
  return `unknown field: allowed here are ${allowed.toSorted().join(", ")}`;
}
