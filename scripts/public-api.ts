import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { parse } from "yaml";
import { z } from "zod";
import { namesOf } from "../src/api/table.ts";
import type { PublicOperation } from "../src/service/http/public-operation.ts";
import { joinedOperations, sdkOperations } from "./sdk-operations.ts";

const file = createRequire(import.meta.url).resolve("@neondatabase/api-client/public-v2-for-users.gen.yaml");

const upper = { get: "GET", post: "POST", put: "PUT", patch: "PATCH", delete: "DELETE" } as const;
const methods = namesOf(upper);

const Fields = z.record(z.string(), z.unknown());
const Parameter = z.looseObject({ name: z.string(), in: z.string() });
const Operation = z.looseObject({
  operationId: z.string(),
  parameters: z.array(z.unknown()).default([]),
  requestBody: z.unknown().optional(),
});
const PathItem = z.looseObject({ parameters: z.array(z.unknown()).default([]) });
const Body = z.looseObject({ content: z.record(z.string(), z.looseObject({ schema: z.unknown() })) });
const ObjectSchema = z.looseObject({ properties: Fields.default({}), required: z.array(z.string()).default([]) });

/** What is kept of a schema: enough to tell a field that the public API knows from one that it does not. */
const copied = ["type", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "required"] as const;

/** The newest Postgres of the public service: the OpenAPI file is older, and the SDK's types name none. */
const newestPostgres = 19;

/** The public API as a table of its operations, one a line: the service must not read the packages. */
export function publicOperationsSource(): string {
  const document = Fields.parse(parse(readFileSync(file, "utf8"), { maxAliasCount: -1 }));
  const older = Object.entries(Fields.parse(document["paths"])).flatMap(([path, item]) => {
    const { parameters, ...operations } = PathItem.parse(item);
    return methods.flatMap((method) => {
      const operation = operations[method];
      if (operation === undefined) return [];
      return [rowOf(document, { method: upper[method], path }, operation, parameters)];
    });
  });
  const lines = joinedOperations(older, sdkOperations()).map((row) => `  ${JSON.stringify(row)},`);
  return `// Written by \`npm run generate\` from @neondatabase/api-client's OpenAPI file and @neon/sdk, which is newer.
import type { PublicOperation } from "./public-operation.ts";

/** Every operation of the public API: those of the OpenAPI file in its order, then those that only the SDK has. */
export const publicOperations: readonly PublicOperation[] = [
${lines.join("\n")}
];
`;
}

function rowOf(
  document: Record<string, unknown>,
  route: Pick<PublicOperation, "method" | "path">,
  value: unknown,
  shared: readonly unknown[],
) {
  const { operationId, parameters, requestBody } = Operation.parse(value);
  const query = [...shared, ...parameters]
    .map((parameter) => Parameter.parse(resolved(document, parameter)))
    .filter((parameter) => parameter.in === "query")
    .map(({ name }) => name);
  const json = requestBody === undefined ? undefined : Body.parse(resolved(document, requestBody)).content;
  const body = json?.["application/json"]?.schema;
  return {
    ...route,
    operationId,
    ...(query.length > 0 && { query }),
    ...(body !== undefined && { body: compact(document, body) }),
  };
}

/** A schema without references and prose; an object with fields of its own has no others. */
function compact(document: Record<string, unknown>, value: unknown): Record<string, unknown> {
  const schema = resolved(document, value);
  const parts = schema["allOf"];
  if (Array.isArray(parts)) return merged(parts.map((part) => compact(document, part)));
  const { properties, items, additionalProperties, nullable } = schema;
  const kept = Object.fromEntries(copied.flatMap((key) => (schema[key] === undefined ? [] : [[key, schema[key]]])));
  return {
    ...kept,
    ...(nullable === true && { type: [schema["type"], "null"] }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(Fields.parse(properties)).map(([name, field]) => [
          name,
          { ...compact(document, field), ...(name === "pg_version" && { maximum: newestPostgres }) },
        ]),
      ),
      additionalProperties: false,
    }),
    ...(items !== undefined && { items: compact(document, items) }),
    ...(typeof additionalProperties === "object" && {
      additionalProperties: compact(document, additionalProperties),
    }),
  };
}

function merged(parts: readonly Record<string, unknown>[]): Record<string, unknown> {
  const [only] = parts;
  if (parts.length === 1 && only) return only;
  const objects = parts.map((part) => ObjectSchema.parse(part));
  const required = objects.flatMap((part) => part.required);
  return {
    type: "object",
    ...(required.length > 0 && { required }),
    properties: Object.assign({}, ...objects.map(({ properties }) => properties)),
    additionalProperties: false,
  };
}

function resolved(document: Record<string, unknown>, value: unknown): Record<string, unknown> {
  const fields = Fields.parse(value);
  const reference = fields["$ref"];
  if (typeof reference !== "string") return fields;
  const found = reference
    .slice(2)
    .split("/")
    .reduce<unknown>((at, key) => Fields.parse(at)[key], document);
  return resolved(document, found);
}
