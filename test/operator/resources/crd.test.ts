import { describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { crdsYaml, customResourceDefinitions } from "../../../src/operator/resources/crd.ts";
import { type StructuralSchema, structuralSchema } from "../../../src/operator/resources/structural-schema.ts";

interface Field {
  readonly path: string;
  readonly schema: StructuralSchema;
}

/** Every field below `schema`, with its path. */
function fieldsOf(schema: StructuralSchema, path: string): Field[] {
  const inner = [schema.items, schema.additionalProperties].filter((child) => child !== undefined);
  const named = Object.entries(schema.properties ?? {}).map(([name, field]) => ({
    path: `${path}.${name}`,
    schema: field,
  }));
  return [
    ...named,
    ...named.flatMap((field) => fieldsOf(field.schema, field.path)),
    ...inner.flatMap((child) => fieldsOf(child, path)),
  ];
}

const roots = customResourceDefinitions().map(({ spec }) => ({
  kind: spec.names.kind,
  schema: spec.versions[0].schema.openAPIV3Schema,
}));
const fields = roots.flatMap(({ kind, schema }) => fieldsOf(schema, kind));

describe("the CustomResourceDefinitions", () => {
  test("describe every field in a sentence, but for the metadata", () => {
    const silent = fields.filter(
      ({ path, schema }) => !/[\w)]\.$/.test(schema.description ?? "") && !path.endsWith(".metadata"),
    );
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  test("say the same to a parser of YAML 1.1, as Helm's is, which reads a bare n as false", () => {
    const read = (version: "1.1" | "1.2") =>
      parseAllDocuments(crdsYaml(), { version }).map((document) => document.toJS());
    expect(read("1.1")).toEqual(read("1.2"));
  });

  test("the definitions have defaults for nothing that the service decides", () => {
    const defaults = fields.filter(({ schema }) => schema.default !== undefined).map(({ path }) => path);
    expect(defaults.filter((path) => path.startsWith("Compute.")).toSorted()).toEqual([
      "Compute.spec.connectionRef",
      "Compute.spec.connectionRef.kind",
      "Compute.spec.connectionRef.name",
      "Compute.spec.driftPolicy",
      "Compute.spec.type",
      "Compute.status",
    ]);
  });

  test("refuse no value in a status, whatever a service may say", () => {
    const bounds = /^(enum|pattern|format|m(in|ax).*|x-kubernetes-validations)$/;
    const bounded = fields.filter(({ path, schema }) => {
      const keys = Object.keys(schema).filter(
        (key) => bounds.test(key) && schema.format !== "int64" && schema.format !== "int32",
      );
      return path.includes(".status.") && keys.length > 0;
    });
    expect(bounded.map(({ path }) => path)).toEqual([]);
  });

  test("bound each string that a rule looks at, as the API server's cost limit asks", () => {
    const unbounded = fields.filter(
      ({ schema }) =>
        schema["x-kubernetes-validations"] && schema.type === "string" && !schema.maxLength && !schema.enum,
    );
    expect(unbounded.map(({ path }) => path)).toEqual([]);
  });

  test("print as one YAML stream of five", () => {
    expect(crdsYaml().match(/^kind: CustomResourceDefinition$/gm)).toHaveLength(5);
    expect(crdsYaml().match(/^---$/gm)).toHaveLength(4);
  });
});

describe("what a CustomResourceDefinition cannot say is refused, not lost", () => {
  test.each([
    ["a look-ahead", z.string().regex(/^(?!ep-)/), "RE2 has no look-around"],
    ["an ISO 8601 duration", z.iso.duration(), "means something else in Kubernetes"],
    ["anything at all", z.unknown(), "needs a type"],
    ["a text or a number", z.union([z.string(), z.number()]), "only alternatives that are objects"],
    ["alternatives without a rule", z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), "need a rule"],
    ["a date", z.date(), "Date cannot be represented"],
  ])("%s", (_, schema, message) => {
    expect(() => structuralSchema(z.object({ field: schema }), "spec")).toThrow(message);
  });

  test("an error names the field", () => {
    const deep = z.object({ a: z.array(z.object({ b: z.unknown() })) });
    expect(() => structuralSchema(deep, "spec")).toThrow("spec.a[].b: ");
  });
});

describe("numbers", () => {
  test.each([
    ["an integer", z.int(), { type: "integer", format: "int64" }],
    ["a 32-bit integer", z.int32().min(0), { type: "integer", format: "int32", minimum: 0 }],
    ["a small integer", z.int().min(1).max(9), { type: "integer", format: "int32", minimum: 1, maximum: 9 }],
    ["a number", z.number(), { type: "number" }],
  ])("%s keeps its own bounds and loses those of JavaScript", (_, schema, expected) => {
    expect(structuralSchema(schema, "spec")).toEqual(expected);
  });
});
