import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { BranchesAnswer } from "../../../src/api/branch.ts";
import { EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { ProjectAnswer, ProjectsAnswer } from "../../../src/api/project.ts";
import { keys, main, preview, primary, project, Shop, staging } from "../support/shop.ts";

function listed(shop: Shop, key: string, query = ""): string[] {
  return ProjectsAnswer.parse(shop.send(key, `GET /projects${query}`).body).projects.map(({ id }) => id);
}

const Usage = z.object({ cpu_used_sec: z.number(), compute_time_seconds: z.number(), active_time_seconds: z.number() });

it("a listed project has every field of the specification", () => {
  const { projects } = ProjectsAnswer.parse(new Shop().ana("GET /projects").body);
  expect(projects[0]).toMatchObject({
    id: project,
    name: "shop",
    platform_id: "aws",
    region_id: "aws-us-east-2",
    provisioner: "k8s-neonvm",
    pg_version: 17,
    cpu_used_sec: 0,
    locked: false,
    branch_logical_size_limit: 16_777_216,
    proxy_host: "us-east-2.aws.neon.tech",
    created_at: "2026-01-01T00:00:00.000Z",
    updated_at: "2026-01-01T00:00:00.000Z",
  });
});

it("the usage of all projects of a list is one question to the store", () => {
  const shop = new Shop();
  shop.patch(primary, { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 });
  shop.finishOperations().active();
  shop.time.pass(60_000);
  const asked = vi.spyOn(shop.database, "all");
  const { projects } = z
    .object({ projects: z.array(z.looseObject({ active_time: z.int(), cpu_used_sec: z.int() })) })
    .parse(shop.ana("GET /projects").body);
  expect(projects.map(({ active_time, cpu_used_sec }) => [active_time, cpu_used_sec])).toEqual([
    [62, 125],
    [0, 0],
    [0, 0],
  ]);
  expect(asked.mock.calls.filter(([sql]) => sql.includes("endpoints"))).toHaveLength(1);
});

it("the list of projects holds what the key reaches: own projects and those of one's organizations", () => {
  const shop = new Shop();
  expect(listed(shop, keys.ana)).toEqual([project, "shop-two", "ana-own"]);
  expect(listed(shop, keys.bob)).toEqual([project, "shop-two", "bob-own"]);
  expect(listed(shop, keys.eve)).toEqual(["eve-own"]);
  expect(listed(shop, keys.shop)).toEqual([project, "shop-two"]);
  expect(listed(shop, keys.scoped)).toEqual([project]);
});

it("a project-scoped key has no other project of its organization read", () => {
  const shop = new Shop();
  shop.database.run("UPDATE projects SET details = 'no JSON' WHERE id <> ?", project);
  expect(listed(shop, keys.scoped)).toEqual([project]);
  expect(listed(shop, keys.scoped, "?search=nothing")).toEqual([]);
});

it("the list of projects can be narrowed to an organization, and searched by name and id in any case", () => {
  const shop = new Shop();
  expect(listed(shop, keys.ana, "?org_id=org-shop")).toEqual([project, "shop-two"]);
  expect(listed(shop, keys.ana, "?search=TWO")).toEqual(["shop-two"]);
  expect(listed(shop, keys.ana, "?search=SHINY")).toEqual([project]);
  shop.ana("PATCH /projects/shop-two", { project: { name: "Large Store" } });
  expect(listed(shop, keys.ana, "?search=lARGE")).toEqual(["shop-two"]);
  expect(listed(shop, keys.ana, "?search=100%25")).toEqual([]);
});

it("the list of projects comes in pages of ten by default, and of up to 400", () => {
  const shop = new Shop();
  const names = Array.from({ length: 25 }, (_, index) => `many-${index}`);
  shop.applySeed({ projects: names.map((id) => ({ id, owner: "acc-eve", endpoints: [] })) });
  const pages: string[][] = [];
  let cursor: string | undefined = "";
  while (cursor !== undefined) {
    const query: string = cursor === "" ? "" : `?cursor=${cursor}`;
    const page = ProjectsAnswer.parse(shop.send(keys.eve, `GET /projects${query}`).body);
    pages.push(page.projects.map(({ id }) => id));
    cursor = page.pagination?.cursor;
  }
  expect(pages.map((page) => page.length)).toEqual([10, 10, 6, 0]);
  expect(pages.flat()).toEqual(["eve-own", ...names]);
  expect(listed(shop, keys.eve, "?limit=400")).toHaveLength(26);
});

it("a project has from the start a default branch with its primary compute", () => {
  const shop = new Shop();
  const created = shop.ana("POST /projects", { project: { name: "new" } });
  expect(created.status).toBe(201);
  const { id } = ProjectAnswer.parse(created.body).project;
  const { branches } = BranchesAnswer.parse(shop.ana(`GET /projects/${id}/branches`).body);
  expect(branches).toMatchObject([{ name: "main", default: true, current_state: "init" }]);
  shop.finishOperations();
  const { endpoints } = EndpointsAnswer.parse(shop.ana(`GET /projects/${id}/endpoints`).body);
  expect(endpoints).toMatchObject([{ type: "read_write", branch_id: branches[0]?.id, current_state: "active" }]);
  expect(shop.ana(`GET /projects/${id}/branches/${branches[0]?.id}`).body["branch"]).toMatchObject({
    current_state: "ready",
  });
});

it("a project counts the time that its computes were active, larger ones for more", () => {
  const shop = new Shop();
  shop.active({ suspend_timeout_seconds: -1 });
  const used = () => Usage.parse(shop.ana(`GET /projects/${project}`).body["project"]);
  shop.time.pass(100_000 - 6000);
  const small = used();
  shop.patch(primary, { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 });
  shop.time.pass(100_000);
  const large = used();
  expect(large.cpu_used_sec - small.cpu_used_sec).toBe(400);
  expect(large.active_time_seconds - small.active_time_seconds).toBe(100);
  shop.ana(`DELETE /projects/${project}/endpoints/${primary}`);
  shop.time.pass(100_000);
  expect(used()).toEqual(large);
});

it("a project can be renamed, and deleted by an administrator with all that belongs to it", () => {
  const shop = new Shop();
  expect(shop.ana(`PATCH /projects/${project}`, { project: { name: "renamed" } }).body["project"]).toMatchObject({
    name: "renamed",
  });
  expect(shop.send(keys.bob, `DELETE /projects/${project}`).status).toBe(403);
  expect(shop.ana(`DELETE /projects/${project}`).status).toBe(200);
  expect(shop.ana(`GET /projects/${project}/endpoints`).status).toBe(404);
  expect(listed(shop, keys.ana)).toEqual(["shop-two", "ana-own"]);
});

it("a project is not deleted while an operation runs in it", () => {
  const shop = new Shop({ projectLock: false });
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  expect(shop.ana(`DELETE /projects/${project}`).status).toBe(423);
  expect(shop.finishOperations().get(primary).current_state).toBe("active");
  expect(shop.ana(`DELETE /projects/${project}`).status).toBe(200);
});

it("a project-scoped key lists its project, however many others come before and however short the page is", () => {
  const shop = new Shop();
  const made = shop.ana("POST /organizations/org-shop/api_keys", { key_name: "two", project_id: "shop-two" });
  const { projects } = ProjectsAnswer.parse(shop.send(String(made.body["key"]), "GET /projects?limit=1").body);
  expect(projects.map(({ id }) => id)).toEqual(["shop-two"]);
});

it("a project gets logical replication by a restart of its running computes, not while it is locked, and for good", () => {
  const shop = new Shop();
  shop.active();
  const set = (enabled: boolean) => {
    const settings = { enable_logical_replication: enabled };
    return shop.ana(`PATCH /projects/${project}`, { project: { settings } });
  };
  expect(set(false).body["operations"]).toEqual([]);
  shop.create({ branch_id: preview, type: "read_write" });
  expect(set(true).status).toBe(423);
  expect(shop.ana(`PATCH /projects/${project}`, { project: { name: "store" } }).status).toBe(200);
  shop.finishOperations();
  expect(set(true).body["operations"]).toMatchObject([
    { action: "apply_config", endpoint_id: primary, status: "running" },
    { action: "apply_config", status: "running" },
  ]);
  shop.finishOperations();
  expect(set(true).body["operations"]).toEqual([]);
  expect(set(false).status).toBe(422);
  expect(shop.ana(`GET /projects/${project}`).body["project"]).toMatchObject({
    settings: { enable_logical_replication: true },
  });
});

it.each([
  [
    "is being disabled",
    (shop: Shop) => shop.patch(primary, { disabled: true }),
    { current_state: "idle", disabled: true },
  ],
  ["starts", (shop: Shop) => shop.create({ branch_id: preview, type: "read_write" }), { current_state: "active" }],
])("a project gets no logical replication while a compute %s, with --no-project-lock neither", (_, change, after) => {
  const shop = new Shop({ projectLock: false });
  shop.active();
  const { id } = change(shop).endpoint;
  const settings = { enable_logical_replication: true };
  expect(shop.ana(`PATCH /projects/${project}`, { project: { settings } }).status).toBe(423);
  expect(shop.finishOperations().get(id)).toMatchObject(after);
});

it("a project moves to another organization by one who is in both", () => {
  const shop = new Shop();
  const move = { destination_org_id: "org-other", project_ids: [project] };
  expect(shop.ana("POST /organizations/org-shop/projects/transfer", move).status).toBe(404);
  shop.send(undefined, "PUT /_admin/organizations/org-other/members/acc-ana", { role: "member" });
  expect(shop.ana("POST /organizations/org-shop/projects/transfer", move).status).toBe(200);
  expect(listed(shop, keys.other)).toEqual([project]);
  expect(shop.send(keys.scoped, "GET /projects").status).toBe(401);
});

describe("an account's project", () => {
  it("moves to an organization of which the account is a member", () => {
    const shop = new Shop();
    const move = (key: string, to: string, id: string) =>
      shop.send(key, "POST /users/me/projects/transfer", { destination_org_id: to, project_ids: [id] }).status;
    expect(move(keys.ana, "org-other", "ana-own")).toBe(404);
    expect(move(keys.ana, "org-shop", "bob-own")).toBe(404);
    expect(move(keys.ana, "org-shop", "ana-own")).toBe(200);
    expect(listed(shop, keys.shop)).toEqual([project, "shop-two", "ana-own"]);
  });
});

it("a branch is made of another one, by default of the default branch, and can bring its computes", () => {
  const shop = new Shop();
  const created = shop.ana(`POST /projects/${project}/branches`, {
    branch: { name: "feature" },
    endpoints: [{ type: "read_write" }, { type: "read_only", autoscaling_limit_max_cu: 2 }],
  });
  expect(created.status).toBe(201);
  expect(created.body["branch"]).toMatchObject({ name: "feature", parent_id: main, current_state: "init" });
  shop.finishOperations();
  const { id } = BranchesAnswer.parse(shop.ana(`GET /projects/${project}/branches?search=feature`).body)
    .branches[0] ?? { id: "" };
  const { endpoints } = EndpointsAnswer.parse(shop.ana(`GET /projects/${project}/branches/${id}/endpoints`).body);
  expect(endpoints.map(({ type, current_state }) => `${type} ${current_state}`)).toEqual([
    "read_write active",
    "read_only active",
  ]);
});

it("a branch takes no compute before it is ready", () => {
  const shop = new Shop();
  const { body } = shop.ana(`POST /projects/${project}/branches`);
  const id = JSON.stringify(body["branch"]).match(/br-[a-z0-9-]+/)?.[0];
  const early = shop.ana(`POST /projects/${project}/endpoints`, { endpoint: { branch_id: id, type: "read_write" } });
  expect([early.status, early.body["message"]]).toEqual([422, "branch not ready yet"]);
  shop.finishOperations();
  shop.create({ branch_id: id, type: "read_write" });
});

it("a branch can be deleted with its computes, but not the default one, nor one with children", () => {
  const shop = new Shop();
  shop.create({ branch_id: preview, type: "read_only" });
  shop.finishOperations();
  expect(shop.ana(`DELETE /projects/${project}/branches/${main}`).status).toBe(422);
  expect(shop.ana(`DELETE /projects/${project}/branches/${preview}`).status).toBe(200);
  expect(shop.list().map(({ id }) => id)).toEqual([primary]);
  expect(shop.ana(`GET /projects/${project}/branches/${preview}`).status).toBe(404);
});

it("branches are found by name, sorted and paged", () => {
  const shop = new Shop();
  const names = (query: string) =>
    BranchesAnswer.parse(shop.ana(`GET /projects/${project}/branches?${query}`).body).branches.map(({ name }) => name);
  expect(names("sort_by=name&sort_order=asc")).toEqual(["main", "preview", "staging"]);
  expect(names("sort_by=name&sort_order=desc&limit=2")).toEqual(["staging", "preview"]);
  expect(names("search=AGED")).toEqual([]);
  expect(names("search=aged")).toEqual(["main"]);
});

it("operations are listed newest first, in pages, and each by its id", () => {
  const shop = new Shop();
  shop.active();
  shop.ana(`POST /projects/${project}/endpoints/${primary}/restart`);
  shop.finishOperations();
  const all = shop.operations();
  expect(all.map(({ action }) => action)).toEqual(["start_compute", "suspend_compute", "start_compute"]);
  const first = shop.ana(`GET /projects/${project}/operations?limit=2`).body;
  const cursor = JSON.stringify(first["pagination"]).match(/\d+/)?.[0];
  const second = shop.ana(`GET /projects/${project}/operations?limit=2&cursor=${cursor}`).body;
  expect([first["operations"], second["operations"]].flat()).toEqual(all);
  expect(shop.ana(`GET /projects/${project}/operations/${all[0]?.id}`).body["operation"]).toEqual(all[0]);
  expect(all[0]?.id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
});

it("operations go from scheduling over running to finished, and tell how long they took", () => {
  const shop = new Shop();
  shop.active();
  shop.ana(`POST /projects/${project}/endpoints/${primary}/restart`);
  expect(shop.operations().slice(0, 2)).toMatchObject([{ status: "scheduling" }, { status: "running" }]);
  shop.time.pass(260);
  expect(shop.operations().slice(0, 2)).toMatchObject([{ status: "running" }, { status: "finished" }]);
  shop.finishOperations();
  const [start, suspend] = shop.operations();
  expect(start).toMatchObject({ status: "finished", failures_count: 0 });
  expect(suspend?.total_duration_ms).toBeGreaterThanOrEqual(100);
  expect(Number(start?.total_duration_ms)).toBeGreaterThan(Number(suspend?.total_duration_ms));
});

it("the answer to a project's deletion shows its usage until then", () => {
  const used = new Shop();
  used.patch(primary, { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 });
  used.finishOperations().active();
  expect(used.connect(primary, 60).status).toBe(200);
  // The usage after the connection is not recorded yet.
  used.time.pass(90_000);
  const usage = { active_time_seconds: 92, compute_time_seconds: 185 };
  expect(used.ana(`GET /projects/${project}`).body["project"]).toMatchObject(usage);
  expect(used.ana(`DELETE /projects/${project}`).body["project"]).toMatchObject(usage);
});

const ofBranches = `/projects/${project}/branches`;

it.each([
  [`DELETE ${ofBranches}/${main}`, undefined, 422],
  [`DELETE ${ofBranches}/${preview}`, undefined, 422],
  [`POST ${ofBranches}/${preview}/restore`, { source_branch_id: main }, 422],
  [`DELETE /projects/${project}/endpoints/${primary}`, undefined, 422],
  [`DELETE /projects/${project}`, undefined, 422],
  [`POST ${ofBranches}`, { branch: { name: "staging" } }, 409],
  [`POST /projects/${project}/endpoints`, { endpoint: { branch_id: main, type: "read_write" } }, 409],
  [`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { branch_id: "br-two" } }, 404],
  [`POST ${ofBranches}/${staging}/roles`, { role: { name: "neondb_owner" } }, 409],
  [`POST ${ofBranches}/${staging}/databases`, { database: { name: "neondb", owner_name: "neondb_owner" } }, 409],
  [`POST ${ofBranches}/${staging}/databases`, { database: { name: "other", owner_name: "nobody" } }, 404],
  [`PATCH ${ofBranches}/${staging}/databases/neondb`, { database: { owner_name: "nobody" } }, 404],
])("%s with %j is refused for good while an operation runs, as no waiting for it helps", (line, body, status) => {
  const shop = new Shop();
  for (const id of [main, preview]) shop.ana(`PATCH ${ofBranches}/${id}`, { branch: { protected: true } });
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  expect(shop.ana(line, body).status).toBe(status);
});

it("a list of the projects of an organization tells nobody else whether there is that organization", () => {
  const shop = new Shop();
  const refused = ["org-other", "org-nowhere"].map((id) => {
    const { status, body } = shop.ana(`GET /projects?org_id=${id}`);
    return [status, body["message"]];
  });
  expect(refused).toEqual([
    [404, "organization not found"],
    [404, "organization not found"],
  ]);
});
