import { beforeEach, describe, expect, it, test } from "vitest";
import { Branch } from "../../../src/api/branch.ts";
import { ProjectAnswer } from "../../../src/api/project.ts";
import type { PublicSchema } from "../../../src/service/http/public-operation.ts";
import { publicOperations } from "../../../src/service/http/public-operations.ts";
import { keys, main, preview, primary, project, Shop } from "../support/shop.ts";

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

const served = new Set(new Shop().core.routes.map(({ operationId }) => operationId));
const unserved = publicOperations.filter(({ operationId }) => !served.has(operationId));

it("the public API has 180 calls, each once", () => {
  expect(new Set(publicOperations.map(({ operationId }) => operationId)).size).toBe(180);
  expect(new Set(publicOperations.map(({ method, path }) => `${method} ${path}`)).size).toBe(180);
});

describe("a call of the public API that is not served", () => {
  test.each(unserved)("$operationId is answered 501 with its name", ({ method, path, operationId }) => {
    const target = path
      .replace("{project_id}", project)
      .replace("{branch_id}", main)
      .replaceAll(/\{\w+\}/g, "some");
    const answer = shop.ana(`${method} ${target}`, method === "GET" ? undefined : {});
    expect([answer.status, answer.body["code"]]).toEqual([501, ""]);
    expect(answer.body["message"]).toContain(operationId);
    expect(answer.body["request_id"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("needs a key all the same, and with --strict-spec is no route", () => {
    expect(shop.send(undefined, "GET /consumption_history/projects").status).toBe(401);
    expect(new Shop({ strictSpec: true }).ana("GET /consumption_history/projects").status).toBe(404);
  });

  it("a call that is not served is distinguished from a route that does not exist", () => {
    const answer = shop.ana("GET /projects/shiny/nowhere");
    expect([answer.status, answer.body["message"]]).toEqual([404, "this route does not exist"]);
  });
});

describe("a literal part of a path", () => {
  it("comes before a parameter: shared is no project, count no branch", () => {
    expect(shop.ana("GET /projects/shared")).toMatchObject({ status: 200, body: { projects: [] } });
    expect(shop.ana(`GET /projects/${project}/branches/count`)).toMatchObject({ status: 200, body: { count: 3 } });
  });
});

describe("a query", () => {
  const uri = `GET /projects/${project}/connection_uri?database_name=neondb&role_name=neondb_owner`;

  it.each(["true", "True", "TRUE", "1", "t"])("takes %s for true", (value) => {
    expect(shop.ana(`${uri}&pooled=${value}`).body["uri"]).toContain(`${primary}-pooler`);
  });

  it.each(["false", "False", "FALSE", "0", "f", ""])("takes %j for false", (value) => {
    const { status, body } = shop.ana(`${uri}&pooled=${value}`);
    expect([status, body["uri"]]).toEqual([200, expect.stringContaining(`${primary}.`)]);
  });

  it.each([
    ["pooled=maybe", "pooled: must be true or false"],
    ["pooled=2", "pooled: must be true or false"],
  ])("a query with %s is refused with its name", (query, message) => {
    expect(shop.ana(`${uri}&${query}`)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining(message) },
    });
  });

  it("takes numbers as clients write them, and parameters without a value for absent ones", () => {
    expect(shop.ana("GET /projects?limit=1").body["projects"]).toHaveLength(1);
    expect(shop.ana("GET /projects?limit=1.0").body["projects"]).toHaveLength(1);
    expect(shop.ana("GET /projects?limit=&cursor=&search=&org_id=").body["projects"]).toHaveLength(3);
    expect(shop.ana("GET /projects?limit=1.5").status).toBe(400);
  });

  it("takes parameters of the public API that nothing is made of", () => {
    expect(shop.ana("GET /projects?timeout=1000&recoverable=false").status).toBe(200);
  });
});

/** A value that fits a schema, with every field that it knows. */
function full(schema: PublicSchema): unknown {
  if (schema.enum) return schema.enum[0];
  if (schema.properties) return mapped(schema.properties);
  if (schema.items) return [full(schema.items)];
  if (typeof schema.additionalProperties === "object") return { some: full(schema.additionalProperties) };
  const [type] = [schema.type ?? "object"].flat();
  return { integer: schema.minimum ?? 1, number: schema.minimum ?? 1, boolean: true, object: {} }[type ?? ""] ?? "some";
}

function mapped(properties: Readonly<Record<string, PublicSchema>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, full(schema)]));
}

/** Values that only mean something when they fit what there is. */
const fitting: Readonly<Record<string, Record<string, unknown>>> = {
  createProject: { org_id: "org-shop", region_id: "aws-us-east-2", pg_version: 17, role_name: "app" },
  createProjectBranch: { parent_id: main, init_source: "parent-data", archived: false, protected: false },
  updateProjectBranch: { protected: false, expires_at: "2026-01-02T00:00:00Z" },
  createProjectEndpoint: { branch_id: preview, region_id: "aws-us-east-2" },
  updateProjectEndpoint: { branch_id: main },
};
const times = { expires_at: "2026-01-02T00:00:00Z", parent_timestamp: "2026-01-01T00:00:00Z" };
/** Of two that exclude each other. */
const excluded = new Set(["parent_lsn"]);

function withValues(body: unknown, values: Record<string, unknown>): unknown {
  if (Array.isArray(body)) return body.map((item) => withValues(item, values));
  if (typeof body !== "object" || body === null) return body;
  const fields = Object.entries(body).filter(([name]) => !excluded.has(name));
  return Object.fromEntries(fields.map(([name, value]) => [name, values[name] ?? withValues(value, values)]));
}

it.each([
  [`POST /projects/${project}/branches`, { branch: { name: "", parent_id: "", parent_lsn: "" } }],
  [`POST /projects/${project}/branches`, { endpoints: [{ type: "read_only", provisioner: "" }] }],
  [`POST /projects/${project}/endpoints`, { endpoint: { branch_id: preview, type: "read_write", region_id: "" } }],
  [`POST /projects/${project}/endpoints`, { endpoint: { branch_id: preview, type: "read_write", provisioner: "" } }],
  ["POST /projects", { project: { org_id: "org-shop", name: "", region_id: "", provisioner: "" } }],
  [`POST /projects/${project}/branches`, " \n"],
])("an empty text in %s counts as omitted, as does a body of white space: %j", (line, body) => {
  const answer = shop.ana(line, body);
  expect([answer.status, answer.body["message"]]).toEqual([201, undefined]);
});

it.each(["POST /projects", `PATCH /projects/${project}`])("no setting of a project by %s is an empty text", (line) => {
  const empty = { quota: "", audit_log_level: "", block_public_connections: "" };
  const settings = { ...empty, enable_logical_replication: "", allowed_ips: { ips: "", protected_branches_only: "" } };
  const wanted = { ...(line.startsWith("POST") && { org_id: "org-shop" }), settings };
  const made = Object(shop.ana(line, { project: wanted }).body["project"]);
  const shown = Object(shop.ana(`GET /projects/${made["id"]}`).body["project"])["settings"];
  const usual = { enable_logical_replication: false, block_public_connections: false, block_vpc_connections: false };
  expect(shown).toEqual({ ...usual, allowed_ips: { ips: [], protected_branches_only: false } });
});

describe.each(Object.keys(fitting))("the body of %s", (operationId) => {
  const operation = publicOperations.find((one) => one.operationId === operationId);
  const path = (operation?.path ?? "")
    .replace("{project_id}", project)
    .replace("{branch_id}", preview)
    .replace("{endpoint_id}", primary);
  const line = `${operation?.method} ${path}`;
  const body = withValues(full(operation?.body ?? {}), { ...times, ...fitting[operationId] });

  it("may have every field that the public API knows", () => {
    const answer = shop.ana(line, body);
    expect(answer.body["message"]).toBeUndefined();
    expect(answer.status).toBeLessThan(300);
  });

  it.each(objectsIn(body).map((at) => ({ at, place: at.join(".") })))("may have no other field in $place", ({ at }) => {
    const answer = shop.ana(line, withStranger(body, at));
    expect([answer.status, answer.body["message"]]).toEqual([400, expect.stringContaining('"unheard_of"')]);
  });
});

/** The places of all objects that have fields of their own, as keys that lead there. */
function objectsIn(value: unknown, path: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null || "some" in value) return [];
  const own = Array.isArray(value) ? [] : [[...path]];
  return [...own, ...Object.entries(value).flatMap(([name, item]) => objectsIn(item, [...path, name]))];
}

function withStranger(value: unknown, path: readonly string[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  const [name, ...rest] = path;
  if (name === undefined) return { ...value, unheard_of: 1 };
  const entries = Object.entries(value).map(([key, item]) => [key, key === name ? withStranger(item, rest) : item]);
  return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

it("a field of a project that is only kept is shown again by every call that shows the project", () => {
  const settings = { quota: { active_time_seconds: 3600 }, allowed_ips: { ips: ["10.0.0.0/8"] } };
  const made = shop.ana("POST /projects", { project: { name: "kept", settings, org_id: "org-shop" } });
  const { id } = ProjectAnswer.parse(made.body).project;
  expect(made.body["project"]).toMatchObject({ settings });
  shop.finishOperations();
  shop.ana(`PATCH /projects/${id}`, { project: { settings: { enable_logical_replication: true } } });
  const after = { settings: { ...settings, enable_logical_replication: true } };
  expect(shop.ana(`GET /projects/${id}`).body["project"]).toMatchObject(after);
  expect(shop.ana("GET /projects?search=kept").body["projects"]).toMatchObject([after]);
});

it("a field of a compute that is only kept stands in its settings", () => {
  const settings = { pg_settings: {}, pgbouncer_settings: { default_pool_size: "20" } };
  expect(shop.patch(primary, { settings }).endpoint.settings).toEqual(settings);
});

it("a field of a branch that is only kept stands in its annotation", () => {
  const made = shop.ana(`POST /projects/${project}/branches`, { annotation_value: { commit: "abc" } });
  const { id } = Branch.parse(made.body["branch"]);
  expect(shop.ana(`GET /projects/${project}/branches/${id}`).body["annotation"]).toMatchObject({
    object: { id },
    value: { commit: "abc" },
  });
  const annotations = shop.ana(`GET /projects/${project}/branches`).body["annotations"];
  expect(annotations).toMatchObject({ [id]: { value: { commit: "abc" } } });
});

it("fields that decide are refused as ever: sizes, plans, settings that are nil", () => {
  const send = (key: string, endpoint: object) =>
    shop.send(key, `PATCH /projects/${project}/endpoints/${primary}`, { endpoint }).status;
  expect(send(keys.ana, { autoscaling_limit_max_cu: 17 })).toBe(400);
  expect(send(keys.ana, { settings: { pgbouncer_settings: {} } })).toBe(400);
  const free = { default_endpoint_settings: { autoscaling_limit_max_cu: 4 } };
  expect(shop.send(keys.bob, "PATCH /projects/bob-own", { project: free }).status).toBe(422);
  expect(shop.send(keys.bob, "POST /projects", { project: { autoscaling_limit_max_cu: 4 } }).status).toBe(422);
});
