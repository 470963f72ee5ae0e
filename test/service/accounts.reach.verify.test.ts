import { describe, expect, test } from "vitest";
import { consoleRoutes } from "../../src/service/console/routes.ts";
import { nothing } from "../../src/service/http/check.ts";
import { Visitor } from "./console/visitor.ts";
import { Aviary, dodo, people as everybody, flocks, keyOf, type Named } from "./keys/aviary.ts";
import { type Caller, Reach, type Send, type Way } from "./keys/reach.ts";

const { routes } = new Aviary().core;

/** What is sent with a call, where it takes something: each text behind an at sign names something of any bird's. */
const inputs: Readonly<Record<string, readonly (string | object)[]>> = {
  createApiKey: [{ key_name: "new" }],
  createOrgApiKey: [{ key_name: "new" }, { key_name: "new", project_id: "@project_id" }],
  createProject: [{ project: { name: "new" } }, { project: { org_id: "@org_id" } }],
  updateProject: [{ project: { name: "renamed" } }],
  createProjectBranch: [
    {},
    { branch: { parent_id: "@branch_id" }, endpoints: [{ type: "read_write" }] },
    { branch: { parent_id: "@branch_id", init_source: "schema-only" } },
  ],
  updateProjectBranch: [{ branch: { name: "renamed" } }],
  restoreProjectBranch: [{ source_branch_id: "@branch_id", preserve_under_name: "before" }],
  createProjectBranchRole: [{ role: { name: "reader" } }],
  createProjectBranchDatabase: [{ database: { name: "new", owner_name: "@role_name" } }],
  updateProjectBranchDatabase: [{ database: { owner_name: "@role_name" } }, { database: { name: "renamed" } }],
  createProjectEndpoint: [{ endpoint: { branch_id: "@branch_id", type: "read_only" } }],
  updateProjectEndpoint: [{ endpoint: { branch_id: "@branch_id" } }, { endpoint: { name: "renamed" } }],
  updateOrganizationMember: [{ role: "viewer" }],
  transferProjectsFromUserToOrg: [{ destination_org_id: "@org_id", project_ids: ["@project_id"] }],
  transferProjectsFromOrgToOrg: [{ destination_org_id: "@org_id", project_ids: ["@project_id"] }],
  listProjects: ["?limit=400", "?limit=400&cursor=0&search=p", "?org_id=@org_id", "?search=@project_id"],
  listProjectBranches: ["?include_deleted=true", "?search=@branch_id"],
  getConnectionURI: [
    "?database_name=@database_name&role_name=neondb_owner",
    "?database_name=neondb&role_name=@role_name&branch_id=@branch_id",
    "?database_name=neondb&role_name=neondb_owner&endpoint_id=@endpoint_id",
  ],
  getProjectBranchSchema: ["?db_name=@database_name"],
  getProjectBranchSchemaComparison: ["?db_name=neondb&base_branch_id=@branch_id"],
};

const callWays: readonly Way[] = routes.flatMap(({ method, path, operationId, body }) => {
  const sent = inputs[operationId];
  if (body !== nothing && !sent)
    throw new Error(`test/service/accounts.reach.verify.test.ts has no body of ${operationId}`);
  const goes = method === "DELETE" || operationId === "setDefaultProjectBranch";
  const branch = operationId === "recoverProjectBranch" ? "gone" : goes ? "side" : "main";
  return (sent ?? [undefined]).map((input) => ({ method, path, input, branch }));
});

/** The fields of forms, by the end of their paths, and the queries of pages. */
const forms: Readonly<Record<string, readonly (string | object)[]>> = {
  "POST /app/projects": [{ name: "new", owner: "@org_id" }],
  "POST {project_id}/branches": [{ name: "new", parent: "@branch_id", compute: "true" }],
  "POST {branch_id}": [{ compute: "@endpoint_id", shown: "1/1/0", min: "1", max: "2", suspend: "0" }],
  "POST {branch_id}/computes": [{ type: "read_only", size: "1" }],
  "POST /end": [{ seconds: "3600" }],
  "POST /query": [{ sql: "select 1", compute: "@endpoint_id", role: "@role_name", database: "neondb" }],
  "POST /roles": [{ name: "new", login: "true" }],
  "POST /roles/reset": [{ name: "@role_name" }],
  "POST /roles/delete": [{ name: "@role_name" }],
  "POST /databases": [{ name: "new", owner: "@role_name" }],
  "POST /databases/delete": [{ name: "@database_name" }],
  "POST {endpoint_id}": [{ shown: "1/1/0", min: "1", max: "2", suspend: "0" }],
  "POST /move": [{ to: "@branch_id" }],
  "POST /keys": [{ name: "new", project: "@project_id" }],
  "GET /app/projects": ["", "?search=@project_id"],
  "GET /app/computes": ["?sort=used", "?search=@endpoint_id"],
  "GET {project_id}": ["", "?search=@branch_id"],
  "GET {endpoint_id}": ["?password=shown&role=@role_name&database=@database_name"],
  "GET /roles": ["?search=@role_name"],
  "GET /app/keys": ["", "?search=@project_id"],
};
const plainForms = /\/(reset|delete|start|suspend|restart|enable|disable|revoke)$/;

const formWays: readonly Way[] = consoleRoutes().flatMap(({ method, path }) => {
  const fits = Object.keys(forms).filter(
    (end) => end.startsWith(method) && path.endsWith(end.slice(method.length + 1)),
  );
  const [closest] = fits.toSorted((one, other) => other.length - one.length);
  if (closest === undefined && method === "POST" && !plainForms.test(path)) {
    throw new Error(`test/service/accounts.reach.verify.test.ts has no fields of the form at ${path}`);
  }
  const branch = path.endsWith("{branch_id}/delete") || path.endsWith("/end") ? "side" : "main";
  return (forms[closest ?? ""] ?? [undefined]).map((input) => ({ method, path, input, branch }));
});

const byKey: Send = (aviary, { as }, { line, input, body }) => {
  const answer = aviary.send(keyOf(as), `${line}${input}`, body);
  return { status: answer.status, text: JSON.stringify({ ...answer.body, request_id: "" }) };
};

const visitors = new WeakMap<Aviary, Visitor>();
const byPage: Send = (aviary, { as }, { line, input, body }) => {
  const visitor = visitors.get(aviary) ?? new Visitor(aviary.core).signIn(`acc-${as}`);
  visitors.set(aviary, visitor);
  const [method, path = ""] = line.split(" ");
  const seen = method === "GET" ? visitor.get(`${path}${input}`) : visitor.postOnly(path, { ...body });
  const next = seen.headers["location"];
  const html = `${seen.html}${next === undefined ? "" : visitor.get(next).html}`;
  return { status: seen.status, text: html.replaceAll(/ (data-changes|name="token" value)="[^"]*"/g, "") };
};

const stork = ["quail", "heron", "stork", "pipit", "siskin"] as const;
const siskin = ["robin", "siskin"] as const;
const as = (role: string) => ({
  name: role,
  as: "siskin" as const,
  before: (aviary: Aviary) =>
    aviary.send(undefined, "PUT /_admin/organizations/org-stork/members/acc-siskin", { role }),
});
const people: readonly Caller[] = [
  { name: "administrator", as: "pipit", sees: [...stork, "finch"], changes: [...stork, "finch"] },
  { ...as("member"), sees: [...stork, "robin"], changes: [...stork, "robin"] },
  { ...as("viewer"), sees: [...stork, "robin"], changes: siskin },
  { ...as("collaborator"), sees: [...siskin, "stork", "pipit"], changes: siskin },
  {
    name: "former member",
    as: "siskin",
    sees: siskin,
    changes: siskin,
    before: (aviary) => aviary.send(undefined, "DELETE /_admin/organizations/org-stork/members/acc-siskin"),
  },
];
const keys: readonly Caller[] = [
  { name: "organization", as: "stork", sees: stork, changes: stork },
  { name: "project-scoped", as: "quail", sees: ["quail", "stork", "pipit", "siskin"], changes: ["quail", "stork"] },
];

/** Pages take longer than calls, so forms and pages name things of fewer birds. */
const onPages: readonly Named[] = ["quail", "finch", "raven", ...flocks, ...everybody, dodo];

function reachOf(caller: Caller, by: { send: Send; ways: readonly Way[]; among?: readonly Named[] }): Reach {
  const fresh = () => {
    const aviary = new Aviary();
    caller.before?.(aviary);
    return aviary;
  };
  const reach = new Reach({ caller, fresh, ...by });
  for (const way of by.ways) reach.try(way);
  return reach;
}

/** Milliseconds; a busy machine needs a part of them. */
const longest = 900_000;

describe("whatever others' things a call names, it tells and changes nothing of them, nor that they are there", () => {
  test.each([...people, ...keys])(
    "a call of the API by a key reaches no further than it should: $name",
    (caller) => {
      const { found, calls } = reachOf(caller, { send: byKey, ways: callWays });
      expect(found).toEqual([]);
      expect(calls).toBeGreaterThan(4000);
    },
    longest,
  );

  test.each(people)(
    "a page or form of the console reaches no further than it should: $name",
    (caller) => {
      const { found, calls } = reachOf(caller, { send: byPage, ways: formWays, among: onPages });
      expect(found).toEqual([]);
      expect(calls).toBeGreaterThan(1000);
    },
    longest,
  );
});
