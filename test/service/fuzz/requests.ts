import * as fc from "fast-check";
import { z } from "zod";
import type { ServiceCall } from "../../../src/service/http/message.ts";
import { keys, main, preview, primary, project, staging } from "../support/shop.ts";
import { junk, type Known, Schema, valueFor } from "./values.ts";

const Operation = z.looseObject({
  parameters: z.array(z.looseObject({ name: z.string(), in: z.enum(["path", "query"]), schema: Schema })),
  requestBody: z
    .looseObject({ content: z.looseObject({ "application/json": z.looseObject({ schema: z.unknown() }) }) })
    .optional(),
});
const Document = z.looseObject({ paths: z.record(z.string(), z.record(z.string(), Operation)) });

const known: Known = new Map([
  ["project_id", [project, project, project, "shop-two", "ana-own", "eve-own"]],
  ["branch_id", [main, preview, staging]],
  ["parent_id", [main, preview]],
  ["endpoint_id", [primary, primary, primary, "ep-none"]],
  ["org_id", ["org-shop", "org-shop", "org-other"]],
  ["region_id", ["aws-us-east-2", "aws-us-east-2", "azure-westus3"]],
  ["autoscaling_limit_min_cu", [0.25, 1, 2]],
  ["autoscaling_limit_max_cu", [2, 4, 16, 56]],
  ["suspend_timeout_seconds", [-1, 0, 60, 300, 59]],
  ["pg_version", [14, 17, 18, 19]],
  ["cursor", [1, 2, 3, 100, "WzEsImEiXQ", "WyJhIiwxXQ"]],
  ["limit", [1, 2, 10, 400]],
  ["pooled", [true, false]],
  ["sort_by", ["name", "created_at", "updated_at"]],
  ["sort_order", ["asc", "desc"]],
  ["destination_org_id", ["org-shop", "org-other"]],
  ["role_name", ["neondb_owner", "neondb_owner", "reader"]],
  ["database_name", ["neondb", "neondb", "shop"]],
  ["db_name", ["neondb", "neondb", "neondb", "shop"]],
  ["base_branch_id", [main, main, preview]],
  ["lsn", [undefined, undefined, "0/1E19478"]],
  ["base_lsn", [undefined, undefined, "0/1E19478"]],
  ["timestamp", [undefined, undefined, "2026-01-01T00:00:00Z"]],
  ["base_timestamp", [undefined, undefined, "2026-01-01T00:00:00Z"]],
  ["format", ["sql"]],
  ["owner_name", ["neondb_owner"]],
  ["source_branch_id", [main, preview, staging]],
  ["expires_at", ["2026-01-01T00:01:00Z", "2026-01-20T00:00:00+01:00", "2025-01-01T00:00:00Z", null]],
  ["parent_timestamp", ["2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"]],
  ["source_timestamp", ["2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z"]],
  ["parent_lsn", ["0/1E19478"]],
  ["source_lsn", ["0/1E19478", "nowhere"]],
  ["init_source", ["schema-only", "parent-data"]],
  ["history_retention_seconds", [0, 3600, 2_592_000, 2_592_001]],
  ["key_id", ["1", "2", "3", "4", "5", "6", "7", "8"]],
]);

const delay = fc.constantFrom(0, 1, 200, 1000, 5000, 400_000);

/** A request to be sent, and how long after the one before. */
export interface Fuzzed {
  call: ServiceCall;
  /**
   * The route of the document that it is meant for, e.g. `GET /projects`; empty for what the document need not know.
   */
  route: string;
  afterMs: number;
}

/** Requests to every route of an OpenAPI document, good and bad, by everyone and by nobody. */
export function requestsFor(document: unknown): fc.Arbitrary<Fuzzed> {
  const routes = Object.entries(Document.parse(document).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => requestFor(path, method.toUpperCase(), operation)),
  );
  return fc.oneof(
    { weight: 12, arbitrary: fc.oneof(...routes) },
    { weight: 1, arbitrary: connection },
    { weight: 3, arbitrary: lifecycle },
    { weight: 1, arbitrary: unlikely },
  );
}

/** A client of a compute: it moves states about as much as any call. */
const connection: fc.Arbitrary<Fuzzed> = fc
  .record({ seconds: fc.constantFrom("0", "1", "900"), afterMs: delay })
  .map(({ seconds, afterMs }) => ({
    route: "",
    afterMs,
    call: { method: "POST", path: `/_connect/${primary}`, query: { seconds } },
  }));

/** Calls that are fit to be answered well, so that computes go through their states. */
const lifecycle: fc.Arbitrary<Fuzzed> = fc
  .record({
    verb: fc.constantFrom("start", "suspend", "restart", "patch"),
    endpoint: fc.constantFrom(
      { autoscaling_limit_max_cu: 2 },
      { autoscaling_limit_max_cu: 4 },
      { branch_id: preview },
      { branch_id: main },
      { disabled: true },
      { disabled: false },
      { suspend_timeout_seconds: -1 },
      { suspend_timeout_seconds: 60 },
      { settings: { pg_settings: { work_mem: "64MB" } } },
      { name: "new" },
    ),
    afterMs: delay,
  })
  .map(({ verb, endpoint, afterMs }) => ({
    route: "",
    afterMs,
    call: {
      method: verb === "patch" ? "PATCH" : "POST",
      path: `/api/v2/projects/${project}/endpoints/${primary}${verb === "patch" ? "" : `/${verb}`}`,
      headers: { authorization: `Bearer ${keys.ana}` },
      ...(verb === "patch" && { body: JSON.stringify({ endpoint }) }),
    },
  }));

/** Calls that chance seldom makes fit. */
const unlikely: fc.Arbitrary<Fuzzed> = fc
  .record({
    call: fc.constantFrom(
      {
        route: "POST /projects",
        path: "/projects",
        body: { project: { name: "made", default_endpoint_settings: { autoscaling_limit_max_cu: 2 } } },
      },
      {
        route: "POST /projects/{project_id}/branches",
        path: `/projects/${project}/branches`,
        body: { branch: { parent_id: preview }, endpoints: [{ type: "read_write" }] },
      },
      {
        route: "POST /users/me/projects/transfer",
        path: "/users/me/projects/transfer",
        body: { destination_org_id: "org-shop", project_ids: ["ana-own"] },
      },
      {
        route: "POST /projects/{project_id}/branches/{branch_id}/restore",
        path: `/projects/${project}/branches/${staging}/restore`,
        body: { source_branch_id: main },
      },
      {
        route: "DELETE /projects/{project_id}/branches/{branch_id}",
        path: `/projects/${project}/branches/${staging}`,
        body: undefined,
      },
      {
        route: "POST /projects/{project_id}/branches/{branch_id}/recover",
        path: `/projects/${project}/branches/${staging}/recover`,
        body: undefined,
      },
    ),
    afterMs: delay,
  })
  .map(({ call: { route, path, body }, afterMs }) => ({
    route,
    afterMs,
    call: {
      method: route.split(" ")[0] ?? "",
      path: `/api/v2${path}`,
      headers: { authorization: `Bearer ${keys.ana}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    },
  }));

function requestFor(path: string, method: string, operation: z.infer<typeof Operation>): fc.Arbitrary<Fuzzed> {
  const values = (place: "path" | "query") =>
    Object.fromEntries(
      operation.parameters
        .filter((parameter) => parameter.in === place)
        .map(({ name, schema }) => [name, valueFor(schema, known, name)]),
    );
  const body = operation.requestBody?.content["application/json"].schema;
  return fc
    .record({
      params: fc.record(values("path")),
      query: fc.record(values("query"), { requiredKeys: [] }),
      body: body === undefined ? fc.constant(undefined) : bodyFor(body),
      key: fc.constantFrom(keys.ana, keys.ana, keys.ana, ...Object.values(keys), undefined, "wrong"),
      afterMs: delay,
    })
    .map(({ params, query, body: sent, key, afterMs }) => ({
      route: `${method} ${path}`,
      afterMs,
      call: {
        method,
        path: `/api/v2${path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(asText(params[name])))}`,
        query: Object.fromEntries(Object.entries(query).map(([name, value]) => [name, asText(value)])),
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
        ...(sent !== undefined && { body: sent }),
      },
    }));
}

function bodyFor(schema: unknown): fc.Arbitrary<string | undefined> {
  return fc.oneof(
    { weight: 20, arbitrary: valueFor(schema, known).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: junk.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.constantFrom(undefined, "", "{", "[[[[", '{"a":', "null", "\uFEFF{}") },
  );
}

/** Lone surrogates cannot stand in a URL. */
function asText(value: unknown): string {
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).toWellFormed();
}
