import { z } from "zod";

/** A schema as a CustomResourceDefinition takes it ("structural"), as far as ours need it. */
export interface StructuralSchema {
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema;
  properties?: Record<string, StructuralSchema>;
  required?: string[];
  [extension: `x-kubernetes-${string}`]: unknown;
}

type JSONSchema = z.core.JSONSchema.BaseSchema;

/** Keywords of JSON Schema that a structural schema has no use for. */
const DROPPED = new Set(["$schema", "id", "examples", "deprecated", "readOnly", "contentEncoding", "propertyNames"]);

/** Keywords that are taken over unchanged. */
const KEPT = [
  "type",
  "description",
  "enum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "maxProperties",
  "required",
] as const;

/** Keywords that `structuralSchema` works out itself. */
const TRANSLATED = new Set([
  "anyOf",
  "additionalProperties",
  "default",
  "format",
  "items",
  "maximum",
  "minimum",
  "pattern",
  "properties",
]);

/**
 * The structural schema of a zod schema. Throws where the zod schema says something that a CustomResourceDefinition
 * cannot say, naming the field, so that nothing is lost in silence.
 */
export function structuralSchema(schema: z.ZodType, path: string): StructuralSchema {
  const json = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    reused: "inline",
    cycles: "throw",
    unrepresentable: "throw",
  });
  return translate(json, path);
}

function translate(json: JSONSchema, path: string): StructuralSchema {
  if (json["x-kubernetes-preserve-unknown-fields"] === true) {
    return { ...described(json), "x-kubernetes-preserve-unknown-fields": true };
  }
  if (json.anyOf) return translate(merged(json, json.anyOf, path), path);
  if (json.type === undefined) throw new Error(`${path}: a structural schema needs a type`);

  const result: StructuralSchema = {};
  const extensions = Object.entries(json).filter(([key]) => key.startsWith("x-kubernetes-"));
  for (const key of KEPT) Object.assign(result, json[key] === undefined ? {} : { [key]: json[key] });
  for (const key of Object.keys(json)) {
    if (!isKnown(key)) throw new Error(`${path}: "${key}" cannot be said in a CustomResourceDefinition`);
  }
  if (json.type === "integer" || json.type === "number") Object.assign(result, numberBounds(json));
  else if (json.format !== undefined)
    throw new Error(`${path}: format ${json.format} means something else in Kubernetes`);
  if (json.pattern !== undefined) result.pattern = re2(json.pattern, path);
  if (isSchema(json.items)) result.items = translate(json.items, `${path}[]`);
  if (isSchema(json.additionalProperties)) {
    result.additionalProperties = translate(json.additionalProperties, `${path}.*`);
  }
  if (json.properties) {
    result.properties = {};
    for (const [name, field] of Object.entries(json.properties)) {
      if (!isSchema(field)) throw new Error(`${path}.${name}: a structural schema needs a type`);
      result.properties[name] = translate(field, `${path}.${name}`);
    }
  }
  if (json.default !== undefined) result.default = withNestedDefaults(json.default, result);
  return { ...result, ...Object.fromEntries(extensions) };
}

function described(json: JSONSchema): StructuralSchema {
  return json.description === undefined ? {} : { description: json.description };
}

function isKnown(key: string): boolean {
  return (
    key.startsWith("x-kubernetes-") || DROPPED.has(key) || TRANSLATED.has(key) || KEPT.some((kept) => kept === key)
  );
}

function isSchema(value: unknown): value is JSONSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Alternatives as one object with the fields of all; a CEL rule says which of them go together. */
function merged(json: JSONSchema, alternatives: readonly unknown[], path: string): JSONSchema {
  const { anyOf: _, ...rest } = json;
  const properties: NonNullable<JSONSchema["properties"]> = {};
  for (const alternative of alternatives) {
    if (!isSchema(alternative) || alternative.type !== "object") {
      throw new Error(`${path}: only alternatives that are objects can become one structural schema`);
    }
    Object.assign(properties, alternative.properties);
  }
  if (!("x-kubernetes-validations" in rest)) throw new Error(`${path}: alternatives need a rule that tells them apart`);
  return { ...rest, type: "object", properties };
}

/** Bounds that zod adds for the range of its number types become a format; bounds of our own stay. */
function numberBounds({ type, minimum, maximum }: JSONSchema): StructuralSchema {
  if (type === "number") return bounds(minimum, maximum);
  const is32 = Math.abs(minimum ?? 0) <= 2 ** 31 && Math.abs(maximum ?? Number.MAX_SAFE_INTEGER) < 2 ** 31;
  const least = is32 ? -(2 ** 31) : Number.MIN_SAFE_INTEGER;
  const most = is32 ? 2 ** 31 - 1 : Number.MAX_SAFE_INTEGER;
  return {
    format: is32 ? "int32" : "int64",
    ...bounds(minimum === least ? undefined : minimum, maximum === most ? undefined : maximum),
  };
}

function bounds(minimum: number | undefined, maximum: number | undefined): StructuralSchema {
  return { ...(minimum === undefined ? {} : { minimum }), ...(maximum === undefined ? {} : { maximum }) };
}

/** The API server knows RE2, which has neither look-around nor back references. */
function re2(pattern: string, path: string): string {
  if (/\(\?<?[=!]|\\[1-9]/.test(pattern))
    throw new Error(`${path}: RE2 has no look-around or back reference: ${pattern}`);
  // JavaScript escapes the slash in a pattern's source; nobody else needs it.
  return pattern.replaceAll("\\/", "/");
}

/** A default as the API server would complete it: spelt out, so that a reader of the definition sees it. */
function withNestedDefaults(value: unknown, schema: StructuralSchema): unknown {
  if (!isSchema(value)) return value;
  const defaults = Object.entries(schema.properties ?? {}).filter(([, field]) => field.default !== undefined);
  return { ...Object.fromEntries(defaults.map(([name, field]) => [name, field.default])), ...value };
}
