import * as fc from "fast-check";
import { z } from "zod";

/** As much of a JSON schema as our OpenAPI document uses. */
export const Schema = z.looseObject({
  type: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  additionalProperties: z.unknown().optional(),
  items: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
});

/** Values that a name often stands for; most of the values made for it are these. */
export type Known = ReadonlyMap<string, readonly unknown[]>;

/** Values that fit a schema, more or less, so that many requests get past the first check, and many do not. */
export function valueFor(schema: unknown, known: Known, name = ""): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 40, arbitrary: fitting(schema, known, name) }, { weight: 1, arbitrary: junk });
}

/** What nobody expects: any JSON, and strings that break things. */
export const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(
    "",
    "\0",
    "'; DROP TABLE endpoints; --",
    "../../etc/passwd",
    "__proto__",
    "ep-",
    "NaN",
    "9".repeat(400),
  ),
  fc.constantFrom(null, -1, 0, 1e308, 2 ** 53, 0.1, true, [], {}),
);

function fitting(schema: unknown, known: Known, name: string): fc.Arbitrary<unknown> {
  const {
    type,
    enum: options,
    properties,
    required = [],
    additionalProperties,
    items,
    anyOf,
    allOf,
  } = Schema.parse(schema);
  const values = known.get(name);
  if (values) return fc.constantFrom(...values);
  if (options) return fc.constantFrom(...options);
  if (anyOf) return fc.oneof(...anyOf.map((option) => fitting(option, known, name)));
  if (allOf?.[0] !== undefined) return fitting(allOf[0], known, name);
  switch (type ?? "any") {
    case "object":
      return properties
        ? fc.record(fieldsOf(properties, known), { requiredKeys: required })
        : fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fitting(additionalProperties ?? {}, known, ""), {
            maxKeys: 3,
          });
    case "array":
      return fc.array(valueFor(items ?? {}, known, name.replace(/s$/, "")), { maxLength: 3 });
    case "string":
      return fc.string({ minLength: 1, maxLength: 30 });
    case "integer":
      return fc.oneof(fc.constantFrom(-1, 0, 14, 17, 60, 300), fc.integer());
    case "number":
      return fc.oneof(fc.constantFrom(-1, 0, 60, 300, 604_800), fc.double());
    case "boolean":
      return fc.boolean();
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
}

function fieldsOf(properties: Record<string, unknown>, known: Known): Record<string, fc.Arbitrary<unknown>> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueFor(schema, known, name)]));
}
