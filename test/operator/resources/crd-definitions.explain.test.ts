import { describe, expect, it } from "vitest";
import { z } from "zod";
import { customResourceDefinitions } from "../../../src/operator/resources/crd.ts";

interface Schema {
  type?: string | undefined;
  description?: string | undefined;
  enum?: unknown[] | undefined;
  minimum?: number | undefined;
  properties?: Record<string, Schema> | undefined;
  items?: Schema | undefined;
}

const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.object({
    type: z.string().optional(),
    description: z.string().optional(),
    enum: z.array(z.unknown()).optional(),
    minimum: z.number().optional(),
    properties: z.record(z.string(), Schema).optional(),
    items: Schema.optional(),
  }),
);

/** Every field below spec or status, with its path: what `kubectl explain` takes. */
function fieldsOf(path: string, schema: Schema): [path: string, Schema][] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]): [string, Schema][] => [
    [`${path}.${name}`, field],
    ...fieldsOf(`${path}.${name}`, field),
  ]);
  return [...own, ...(schema.items === undefined ? [] : fieldsOf(path, schema.items))];
}

const fields = customResourceDefinitions().flatMap(({ spec }) => {
  const [version] = spec.versions;
  const { properties = {} } = Schema.parse(JSON.parse(JSON.stringify(version?.schema.openAPIV3Schema)));
  return Object.entries(properties)
    .filter(([part]) => part === "spec" || part === "status")
    .flatMap(([part, schema]) => fieldsOf(`${spec.names.singular}.${part}`, schema));
});

const example = /for example|such as/;
/** What a person writes freely: neither one of a few values nor a group of fields. */
const isFree = ({ type, enum: few, properties, items }: Schema) =>
  type !== "boolean" && few === undefined && properties === undefined && items?.properties === undefined;

describe("kubectl explain", () => {
  it("kubectl explain describes every field of spec and status in a sentence", () => {
    expect(fields.length).toBeGreaterThan(300);
    expect(
      fields.filter(([, { description = "" }]) => !/^\S.{3,}[.)]$/.test(description)).map(([path]) => path),
    ).toEqual([]);
  });

  it("kubectl explain gives an example for every field of a spec that takes more than a few values", () => {
    const free = fields.filter(([path, schema]) => path.includes(".spec.") && isFree(schema));
    expect(free.length).toBeGreaterThan(60);
    expect(free.filter(([, { description = "" }]) => !example.test(description)).map(([path]) => path)).toEqual([]);
  });

  it("kubectl explain names the unit of every size, duration and time", () => {
    const unit =
      /\bCU\b|\bGB\b|\bGiB\b|bytes|vCPU|Virtual CPUs|in s, m, h and d|for example \d+[smhd]\b|RFC 3339|wall clock|Time of the day/;
    const measured =
      /\.(min|max|after|lease|every|at|from|to|refreshInterval|logicalSize|[a-z]+(GB|GiB|At|Time|Window|Ends?))$/;
    // Of these two words one is a branch, and the others are values that a person chose for an annotation.
    const others = /\.pendingWrite\.to$|\.(restartedAt|resetAt)$/;
    const sized = fields.filter(
      ([path, { type = "" }]) =>
        measured.test(path) && !others.test(path) && !["object", "array", "boolean"].includes(type),
    );
    expect(sized.length).toBeGreaterThan(50);
    expect(sized.filter(([, { description = "" }]) => !unit.test(description)).map(([path]) => path)).toEqual([]);
  });
});
