import type { Route } from "../../../src/service/http/route.ts";
import { keys, main, preview, primary, project, type Shop } from "../support/shop.ts";
import { type CallerName, callerNames, rights } from "./rights.ts";

/** The keys that the table tries on every route. */
export const callers: Readonly<Record<CallerName, string>> = {
  "personal (administrator)": keys.ana,
  "personal (member)": keys.bob,
  organization: keys.shop,
  "project-scoped": keys.scoped,
};

/** Whose thing a request is about: within the key's reach, somebody else's, or one that does not exist. */
const targets = ["own", "other", "none"] as const;
export type Target = (typeof targets)[number];

/** One cell of the table: a key on a route, about some target. */
export interface Cell {
  route: Route;
  caller: CallerName;
  target: Target;
  expected: number;
}

/** The whole table. Routes that are about nothing in particular have only the column `own`. */
export function table(routes: readonly Route[]): Cell[] {
  return routes.flatMap((route) =>
    targets
      .filter((target) => target === "own" || isAboutSomething(route))
      .flatMap((target) =>
        callerNames.map((caller) => ({ route, caller, target, expected: expected(route, caller, target) })),
      ),
  );
}

function isAboutSomething(route: Route): boolean {
  return route.path.includes("{") || route.operationId === "createProject";
}

/** What `rights.ts` says. Throws where it has no line for a route. */
function expected(route: Route, caller: CallerName, target: Target): number {
  const line = `${route.method} ${route.path}`;
  const statuses = rights.get(line);
  if (statuses === undefined) throw new Error(`test/service/keys/rights.ts does not say who may call ${line}`);
  return target === "own" ? statuses[caller] : 404;
}

/** Sends the request of a cell; answers its status. */
export function tryCell(shop: Shop, { route, caller, target }: Cell): number {
  return shop.send(callers[caller], requestLine(shop, route, caller, target), bodyOf(route, caller, target)).status;
}

/** What calls cannot do without in their query. */
const queries: Readonly<Record<string, string>> = {
  getConnectionURI: "?database_name=neondb&role_name=neondb_owner&pooled=true",
  getProjectBranchSchema: "?db_name=neondb",
  getProjectBranchSchemaComparison: `?db_name=neondb&base_branch_id=${preview}`,
};

/** The request line of a route, about a target as this caller has it. */
export function requestLine(shop: Shop, route: Route, caller: CallerName, target: Target): string {
  const path = route.path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) =>
    parameter(shop, route, caller, target, name),
  );
  return `${route.method} ${path}${queries[route.operationId] ?? ""}`;
}

function parameter(shop: Shop, route: Route, caller: CallerName, target: Target, name: string): string {
  const pick = (own: string, other: string, none: string) => ({ own, other, none })[target];
  switch (name) {
    case "project_id":
      return pick(project, "eve-own", "no-such-project");
    case "branch_id":
      return pick(aBranch(shop, route), "br-eve", "br-none");
    case "endpoint_id":
      return pick(primary, "ep-of-eve", "ep-none");
    case "operation_id":
      return pick(anOperation(shop), "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002");
    case "org_id":
      return pick("org-shop", "org-other", "org-none");
    case "member_id":
      return pick(memberId(shop, keys.ana, "org-shop", 1), memberId(shop, keys.eve, "org-other", 0), "nobody");
    case "role_name":
      return pick(route.method === "DELETE" ? aRole(shop) : "neondb_owner", "neondb_owner", "neondb_owner");
    case "database_name":
      return "neondb";
    case "key_id":
      return route.path.startsWith("/organizations")
        ? pick(firstKey(shop, keys.ana, "/organizations/org-shop/api_keys"), "5", "999999")
        : pick(firstKey(shop, personalOf(caller), "/api_keys"), firstKey(shop, keys.eve, "/api_keys"), "999999");
    default:
      throw new Error(`no value for {${name}} of ${route.path}`);
  }
}

/** Organization and scoped keys have no personal keys to name: they try to reach Ana's. */
function personalOf(caller: CallerName): string {
  return caller === "personal (member)" ? keys.bob : keys.ana;
}

/** The body of a request that succeeds. */
export function bodyOf(route: Route, caller: CallerName, target: Target): unknown {
  switch (route.operationId) {
    case "createApiKey":
    case "createOrgApiKey":
      return { key_name: "new" };
    case "createProject":
      return { project: { org_id: { own: "org-shop", other: "org-other", none: "org-none" }[target] } };
    case "updateProject":
      return { project: { name: "renamed" } };
    case "createProjectEndpoint":
      return { endpoint: { branch_id: target === "own" ? preview : "br-eve", type: "read_write" } };
    case "updateProjectBranch":
      return { branch: { name: "renamed" } };
    case "restoreProjectBranch":
      return { source_branch_id: preview, preserve_under_name: "before" };
    case "createProjectBranchRole":
      return { role: { name: "reader" } };
    case "createProjectBranchDatabase":
      return { database: { name: "shop", owner_name: "neondb_owner" } };
    case "updateProjectBranchDatabase":
      return { database: { name: "renamed" } };
    case "updateProjectEndpoint":
      return { endpoint: { name: "renamed" } };
    case "updateOrganizationMember":
      return { role: "admin" };
    case "transferProjectsFromUserToOrg":
      return { destination_org_id: "org-shop", project_ids: [caller === "personal (member)" ? "bob-own" : "ana-own"] };
    case "transferProjectsFromOrgToOrg":
      return { destination_org_id: "org-shop", project_ids: [project] };
    default:
      return undefined;
  }
}

/** The branch that a call is for: one that can go, one that has gone, or the default one. */
function aBranch(shop: Shop, { method, operationId }: Route): string {
  if (operationId === "recoverProjectBranch") shop.ana(`DELETE /projects/${project}/branches/${preview}`);
  return method === "DELETE" || operationId === "recoverProjectBranch" ? preview : main;
}

function anOperation(shop: Shop): string {
  shop.active();
  return shop.operations()[0]?.id ?? "";
}

/** A role that owns nothing, so that it can be deleted. */
function aRole(shop: Shop): string {
  shop.ana(`POST /projects/${project}/branches/${preview}/roles`, { role: { name: "reader" } });
  return "reader";
}

function memberId(shop: Shop, key: string, organization: string, index: number): string {
  const members: unknown = shop.send(key, `GET /organizations/${organization}/members`).body["members"];
  return idIn(Array.isArray(members) ? members[index] : undefined, "member");
}

function firstKey(shop: Shop, key: string, path: string): string {
  return idIn(Object.values(shop.send(key, `GET ${path}`).body)[0]);
}

function idIn(value: unknown, within?: string): string {
  if (typeof value !== "object" || value === null) return "";
  const fields = new Map<string, unknown>(Object.entries(value));
  return within === undefined ? String(fields.get("id")) : idIn(fields.get(within));
}
