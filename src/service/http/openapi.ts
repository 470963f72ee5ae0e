import { z } from "zod";
import { ErrorBody } from "../../api/error.ts";
import { nothing } from "./check.ts";
import { publicOperation } from "./public-api.ts";
import type { PublicSchema } from "./public-operation.ts";
import type { Access, Route } from "./route.ts";

/** The OpenAPI document of the served routes, from the schemas that check their requests. */
export function openApiDocument(routes: readonly Route[], root: string) {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const methods = (paths[route.path] ??= {});
    methods[route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: "3.0.3",
    info: { title: "compute-operator service", version: "v2" },
    servers: [{ url: root }],
    security: [{ BearerAuth: [] }],
    paths,
    components: {
      securitySchemes: { BearerAuth: { type: "http", scheme: "bearer" } },
      schemas: { Error: schemaOf(ErrorBody, "output") },
    },
  };
}

function operationOf(route: Route) {
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: whoMayCall(route.access),
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(route.body !== nothing && {
      requestBody: {
        required: !route.body.safeParse(undefined).success,
        content: { "application/json": { schema: bodyOf(route) } },
      },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(route.answers).map(([status, schema]) => [status, answerOf(schema)])),
      default: {
        description: "Refused.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}

/** The fields of a body: ours, which are checked, and those of the public API, which are only kept. */
function bodyOf({ operationId, body }: Route) {
  const known = publicOperation(operationId)?.body;
  const ours = schemaOf(body, "input");
  return known ? combined(known, ours) : ours;
}

const Combinable = z.looseObject({
  properties: z.record(z.string(), z.unknown()).default({}),
  items: z.unknown().optional(),
});

/** The fields that the public API knows, as `checkKnown` lets no others pass; what ours say of one takes precedence. */
function combined(known: PublicSchema, ours: unknown): unknown {
  const { properties: own, items, ...rest } = Combinable.parse(ours);
  if (known.items && items) return { ...rest, items: combined(known.items, items) };
  if (!known.properties) return ours;
  const properties = Object.entries(known.properties).map(([name, schema]) => [
    name,
    name in own ? combined(schema, own[name]) : schema,
  ]);
  return { ...rest, properties: Object.fromEntries(properties), additionalProperties: false };
}

function answerOf(schema: z.ZodType | undefined) {
  if (!schema) return { description: "Nothing to show." };
  return { description: "Done.", content: { "application/json": { schema: schemaOf(schema, "output") } } };
}

function whoMayCall(access: Access): string {
  switch (access.kind) {
    case "open":
      return "Needs no key.";
    case "any-key":
      return "Any valid key.";
    case "personal-key":
      return "A personal key.";
    case "project":
      return access.right === "admin"
        ? "A key with administrator's rights in the project."
        : "Any key that reaches the project.";
    case "organization": {
      const who = access.right === "admin" ? "an administrator" : "a member";
      return `A personal key of ${who} of the organization${access.personalKey ? "" : ", or its own key"}.`;
    }
  }
}

function pathParameters(path: string) {
  return [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    // A role or a database has a name with any characters.
    schema: { type: "string", ...(name.endsWith("_id") && { pattern: "^[a-z0-9-]{1,60}$" }) },
  }));
}

const ObjectSchema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
});

function queryParameters(query: z.ZodType) {
  if (query === nothing) return [];
  const { properties, required } = ObjectSchema.parse(schemaOf(query, "input"));
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

function schemaOf(schema: z.ZodType, io: "input" | "output") {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { target: "openapi-3.0", io, reused: "inline" });
  return rest;
}
