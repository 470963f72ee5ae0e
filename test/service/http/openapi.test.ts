import { expect, it } from "vitest";
import { z } from "zod";
import { publicBody } from "../../../src/service/http/public-api.ts";
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

function served(): { text: string; document: z.infer<typeof Document> } {
  const { body: text = "" } = new Shop().core.call({ method: "GET", path: "/api/v2/openapi.json" });
  return { text, document: Document.parse(JSON.parse(text)) };
}
const { routes } = new Shop().core;

/** A value; its type where it has lines of its own, and for a text that holds an id, a time or a secret. */
function shownOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value !== null && typeof value === "object") return "object";
  return typeof value === "string" && (/\d/.test(value) || value.length > 40) ? "string" : JSON.stringify(value);
}

/** The fields of an object that was answered, each with its value and what the document says: ! it is always there. */
function fieldsOf(value: object, schema: Schema | undefined): string[] {
  const missing = (schema?.required ?? []).filter((name) => !(name in value)).map((name) => `${name}! missing`);
  const answered = Object.entries(value).map(([name, field]) => {
    const known = schema?.properties?.[name];
    const mark = known === undefined ? "" : schema?.required?.includes(name) === true ? "!" : "?";
    return `${name}${mark} ${shownOf(field)}`;
  });
  return [...answered, ...missing].toSorted();
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

/** One line for each object of a body, with what the document says of its fields. */
function bodyLines(name: string, { properties = {}, required = [], items, ...rest }: Schema): string[] {
  const own = `  ${name}: ${JSON.stringify(rest)}${required.length === 0 ? "" : ` needs ${required.toSorted().join(", ")}`}`;
  const below = Object.entries(properties)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([field, schema]) => bodyLines(`${name}.${field}`, schema));
  return [own, ...below, ...(items ? bodyLines(`${name}[]`, items) : [])];
}

/** What the document says of a call before it is made. */
function callLines({ summary, description, parameters, requestBody, responses }: z.infer<typeof Operation>): string[] {
  const { default: refused, ...answers } = responses;
  const statuses = Object.entries(answers).map(
    ([status, { description: words, content }]) => `${status} ${words}${content ? " JSON" : ""}`,
  );
  const { schema: error } = refused?.content?.["application/json"] ?? {};
  return [
    `  ${summary} ${description}`,
    `  answers ${statuses.join(", ")}; ${refused?.description} ${JSON.stringify(error)}`,
    ...parameters.map(
      ({ name, in: place, required, schema }) =>
        `  ${place} ${name}${required ? " (required)" : ""}: ${JSON.stringify(schema)}`,
    ),
    ...(requestBody
      ? bodyLines(`body${requestBody.required ? " (required)" : ""}`, requestBody.content["application/json"].schema)
      : []),
  ];
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

it("each route shows in the document, and answers, what answers.txt says", async () => {
  const { document } = served();
  const lines = routes.flatMap((route) => {
    const shop = lived();
    const caller = "personal (administrator)";
    const answer = shop.send(callers[caller], requestLine(shop, route, caller, "own"), bodyOf(route, caller, "own"));
    const operation = document.paths[route.path]?.[route.method.toLowerCase()];
    if (operation?.operationId !== route.operationId) throw new Error(`the document has no ${route.operationId}`);
    const schema = operation.responses[answer.status]?.content?.["application/json"].schema;
    const body = z.union([z.array(z.unknown()), z.looseObject({})]).parse(answer.body);
    return [
      `${route.method} ${route.path} ${route.operationId} ${answer.status}`,
      ...callLines(operation),
      ...linesOf("answer", body, schema),
    ];
  });
  await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot("./answers.txt");
});

it("the document names the API, its root, its keys and its error", () => {
  const { document, text } = served();
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

/** A body with each object of a schema that takes other fields than those shown, which has one, and with each field. */
function bodiesOf(schema: Schema): unknown[] {
  const { properties = {}, items } = schema;
  if (items) return bodiesOf(items).map((item) => [item]);
  const below = Object.entries(properties).flatMap(([name, field]) =>
    [null, ...bodiesOf(field)].map((value) => ({ [name]: value })),
  );
  const isOpen = z.looseObject({ type: z.literal("object"), additionalProperties: z.unknown() }).safeParse(schema);
  return isOpen.success && isOpen.data.additionalProperties !== false ? [...below, { other: "1" }] : below;
}

it("no body of the document has a field that is refused as unknown", () => {
  const { document } = served();
  const bodies = Object.values(document.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, requestBody }) => {
      const schema = requestBody?.content["application/json"].schema;
      return schema ? bodiesOf(schema).map((body) => ({ operationId, body })) : [];
    });
  const refused = bodies.filter(({ operationId, body }) => {
    const issues = publicBody(operationId).safeParse(body).error?.issues ?? [];
    return issues.some(({ code }) => code === "unrecognized_keys");
  });
  expect(refused).toEqual([]);
  expect(bodies.length).toBeGreaterThan(150);
});

it("the document shows in a body the fields that are checked, those that are kept only, and no others", () => {
  const { document } = served();
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
