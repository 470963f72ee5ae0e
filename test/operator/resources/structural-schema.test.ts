import { expect, test } from "vitest";
import { z } from "zod";
import { structuralSchema } from "../../../src/operator/resources/structural-schema.ts";

const rule = { "x-kubernetes-validations": [{ rule: "has(self.a)", message: "one" }] };

test.each<[string, z.ZodType, object]>([
  [
    "text with its bounds",
    z.string().min(1).max(5).describe("A text."),
    { type: "string", minLength: 1, maxLength: 5, description: "A text." },
  ],
  ["a pattern, without the escapes of JavaScript", z.string().regex(/^a\/b$/), { type: "string", pattern: "^a/b$" }],
  ["a choice", z.enum(["a", "b"]), { type: "string", enum: ["a", "b"] }],
  ["an integer of 32 bits", z.int32(), { type: "integer", format: "int32" }],
  [
    "an integer of 32 bits with bounds",
    z.int32().min(0).max(9),
    { type: "integer", format: "int32", minimum: 0, maximum: 9 },
  ],
  ["an integer", z.int(), { type: "integer", format: "int64" }],
  ["an integer from zero", z.int().min(0), { type: "integer", format: "int64", minimum: 0 }],
  ["a number with bounds", z.number().min(0.25).max(8), { type: "number", minimum: 0.25, maximum: 8 }],
  ["a list", z.array(z.string()).max(3), { type: "array", items: { type: "string" }, maxItems: 3 }],
  [
    "a map",
    z.record(z.string(), z.int32()),
    { type: "object", additionalProperties: { type: "integer", format: "int32" } },
  ],
  [
    "an object, with what it needs and the defaults of its fields spelt out",
    z.object({
      a: z.object({ b: z.string().default("x"), c: z.string().optional() }).default({ b: "x" }),
      d: z.boolean(),
    }),
    {
      type: "object",
      required: ["d"],
      properties: {
        a: {
          type: "object",
          default: { b: "x" },
          properties: { b: { type: "string", default: "x" }, c: { type: "string" } },
        },
        d: { type: "boolean" },
      },
    },
  ],
  [
    "alternatives that a rule tells apart",
    z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]).meta(rule),
    { type: "object", properties: { a: { type: "string" }, b: { type: "string" } }, ...rule },
  ],
  [
    "what is kept as it is",
    z.unknown().meta({ "x-kubernetes-preserve-unknown-fields": true, description: "Any." }),
    { description: "Any.", "x-kubernetes-preserve-unknown-fields": true },
  ],
])("a structural schema says %s", (_, schema, expected) => {
  expect(structuralSchema(schema, "spec")).toEqual(expected);
});

test.each<[string, z.ZodType, string]>([
  ["anything", z.object({ a: z.unknown() }), "spec.a: a structural schema needs a type"],
  ["a format", z.object({ a: z.email() }), "spec.a: format email means something else in Kubernetes"],
  [
    "look-around",
    z.object({ a: z.string().regex(/a(?=b)/) }),
    "spec.a: RE2 has no look-around or back reference: a(?=b)",
  ],
  [
    "a back reference in a list",
    z.array(z.string().regex(/(a)\1/)),
    String.raw`spec[]: RE2 has no look-around or back reference: (a)\1`,
  ],
  ["a look behind in a map", z.record(z.string(), z.string().regex(/(?<!a)b/)), "spec.*: RE2 has no look-around"],
  [
    "alternatives without a rule",
    z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
    "spec: alternatives need a rule that tells them apart",
  ],
  [
    "alternatives that are no objects",
    z.union([z.object({ a: z.string() }), z.string()]).meta(rule),
    "spec: only alternatives that are objects can become one structural schema",
  ],
  [
    "a multiple",
    z.object({ a: z.number().multipleOf(5) }),
    'spec.a: "multipleOf" cannot be said in a CustomResourceDefinition',
  ],
])("a structural schema cannot say %s", (_, schema, message) => {
  expect(() => structuralSchema(schema, "spec")).toThrow(message);
});
