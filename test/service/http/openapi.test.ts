import { expect, it } from "vitest";
import { z } from "zod";
import { nothing } from "../../../src/service/http/check.ts";
import type { Access, Route } from "../../../src/service/http/route.ts";
import { bodyOf, callers, requestLine } from "../keys/cells.ts";
import { project, Shop } from "../support/shop.ts";

interface Schema {
  properties?: Record<string, Schema> | undefined;
  required?: string[] | undefined;
  items?: Schema | undefined;
}
const Schema: z.ZodType<Schema> = z.looseObject({
  properties: z
    .record(
      z.string(),
      z.lazy(() => Schema),
    )
    .optional(),
  required: z.array(z.string()).optional(),
  items: z.lazy(() => Schema).optional(),
});
const Content = z.object({ "application/json": z.object({ schema: Schema }) });
const Operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  parameters: z.array(z.looseObject({ name: z.string(), in: z.string(), required: z.boolean(), schema: Schema })),
  requestBody: z.object({ required: z.boolean(), content: Content }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string(), content: Content.optional() })),
});
const Document = z.object({
  openapi: z.string(),
  info: z.object({ title: z.string(), version: z.string() }),
  servers: z.array(z.object({ url: z.string() })),
  security: z.array(z.unknown()),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ securitySchemes: z.unknown(), schemas: z.record(z.string(), Schema) }),
});

const { body: text = "" } = new Shop().core.call({ method: "GET", path: "/api/v2/openapi.json" });
const document = Document.parse(JSON.parse(text));
const { routes } = new Shop().core;

function operationOf({ method, path }: Route): z.infer<typeof Operation> {
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`the document has no ${method} ${path}`);
  return operation;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** The fields of an object that was answered, each with its type and what the document says: ! it is always there. */
function fieldsOf(value: object, schema: Schema | undefined): string[] {
  return Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, field]) => {
      const known = schema?.properties?.[name];
      const mark = known === undefined ? "" : schema?.required?.includes(name) === true ? "!" : "?";
      return `${name}${mark} ${typeOf(field)}`;
    });
}

/** One line for each object of an answer. */
function linesOf(name: string, value: unknown, schema: Schema | undefined): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [] : linesOf(`${name}[]`, value[0], schema?.items);
  if (typeof value !== "object" || value === null) return [];
  const below = Object.entries(value).flatMap(([field, one]) =>
    linesOf(`${name}.${field}`, one, schema?.properties?.[field]),
  );
  return [`  ${name}: ${fieldsOf(value, schema).join(", ") || "no fields"}`, ...below];
}

/** A shop in which lists are not empty, and what can be deleted and recovered was. */
function lived(): Shop {
  const shop = new Shop({ branchRecovery: true });
  shop.active();
  shop.ana(`POST /projects/${project}/branches`, {
    branch: { name: "noted", expires_at: "2026-01-03T00:00:00Z" },
    annotation_value: { commit: "1" },
  });
  shop.finishOperations().core.settle();
  return shop;
}

it("each route answers the fields, with the types, that answers.txt shows beside the document's", async () => {
  const lines = routes.flatMap((route) => {
    const shop = lived();
    const caller = "personal (administrator)";
    const answer = shop.send(callers[caller], requestLine(shop, route, caller, "own"), bodyOf(route, caller, "own"));
    const response = operationOf(route).responses[answer.status];
    const schema = response?.content?.["application/json"].schema;
    const body = z.union([z.array(z.unknown()), z.looseObject({})]).parse(answer.body);
    return [`${route.method} ${route.path} ${answer.status}`, ...linesOf("answer", body, schema)];
  });
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("./answers.txt");
});

it("the document names the API, its root, its keys and its error", () => {
  expect([document.openapi, document.info, document.servers]).toEqual([
    "3.0.3",
    { title: "compute-operator service", version: "v2" },
    [{ url: "/api/v2" }],
  ]);
  expect(document.security).toEqual([{ BearerAuth: [] }]);
  expect(document.components.securitySchemes).toEqual({ BearerAuth: { type: "http", scheme: "bearer" } });
  const error = document.components.schemas["Error"];
  expect([Object.keys(error?.properties ?? {}).toSorted(), error?.required?.toSorted()]).toEqual([
    ["code", "message", "request_id"],
    ["code", "message"],
  ]);
  expect(Object.values(document.paths).flatMap((methods) => Object.keys(methods))).toHaveLength(routes.length);
  expect(text).not.toContain("$schema");
});

/** The callers of a route, in the document's words. */
function words(access: Access): string {
  switch (access.kind) {
    case "open":
      return "Needs no key.";
    case "any-key":
      return "Any valid key.";
    case "personal-key":
      return "A personal key.";
    case "project":
      return (
        { admin: "A key with administrator's rights in the project.", member: "", viewer: "" }[access.right] ||
        "Any key that reaches the project."
      );
    case "organization":
      return `A personal key of ${access.right === "admin" ? "an administrator" : "a member"} of the organization${access.personalKey ? "." : ", or its own key."}`;
  }
}

it.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
  "the document shows of %s who may call it, its parameters, its body and its answers",
  (_, route) => {
    const operation = operationOf(route);
    expect(operation).toMatchObject({ operationId: route.operationId, summary: route.summary });
    expect(operation.description).toBe(words(route.access));
    const path = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, "path", true]);
    const query = route.query instanceof z.ZodObject ? Object.entries(route.query.shape) : [];
    expect(operation.parameters.map(({ name, in: place, required }) => [name, place, required])).toEqual([
      ...path,
      ...query.map(([name, one]) => [name, "query", !z.safeParse(one, undefined).success]),
    ]);
    expect(operation.requestBody !== undefined).toBe(route.body !== nothing);
    expect(operation.requestBody?.required ?? false).toBe(
      route.body !== nothing && !route.body.safeParse(undefined).success,
    );
    const { default: refused, ...answers } = operation.responses;
    expect(refused?.description).toBe("Refused.");
    expect(Object.keys(answers)).toEqual(Object.keys(route.answers));
    for (const [status, schema] of Object.entries(route.answers)) {
      expect(answers[status]?.description).toBe(schema ? "Done." : "Nothing to show.");
      expect(answers[status]?.content !== undefined).toBe(schema !== undefined);
    }
  },
);

it("the document shows in a body the fields that are checked, those that are kept only, and no others", () => {
  const post = document.paths["/projects/{project_id}/endpoints"]?.["post"]?.requestBody?.content["application/json"];
  const endpoint = post?.schema.properties?.["endpoint"];
  expect([post?.schema.required, endpoint?.required]).toEqual([["endpoint"], ["branch_id", "type"]]);
  expect(endpoint).toMatchObject({ additionalProperties: false });
  const fields = Object.keys(endpoint?.properties ?? {});
  expect(fields).toEqual(expect.arrayContaining(["branch_id", "type", "name", "settings", "pooler_enabled"]));
  expect(fields).not.toContain("current_state");
  // Ours says more of a size than the public one.
  expect(endpoint?.properties?.["autoscaling_limit_min_cu"]).toMatchObject({
    type: "number",
    enum: expect.arrayContaining([0.25, 56]),
  });
  expect(Object.keys(endpoint?.properties?.["settings"]?.properties ?? {})).toContain("pgbouncer_settings");
});
