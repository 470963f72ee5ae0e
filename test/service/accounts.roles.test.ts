import { describe, expect, it } from "vitest";
import { z } from "zod";
import { rules } from "../../src/service/rules.ts";
import { memberRoles } from "../../src/service/store/accounts.ts";
import { Visitor } from "./console/visitor.ts";
import { callers, tryCell } from "./keys/cells.ts";
import { keys, project, Shop } from "./support/shop.ts";

type Role = (typeof memberRoles)[number];

/** The shop, in which Bob has a role. */
function shopWith(role: Role, options: ConstructorParameters<typeof Shop>[0] = {}): Shop {
  const shop = new Shop({ branchRecovery: true, ...options });
  expect(shop.send(undefined, "PUT /_admin/organizations/org-shop/members/acc-bob", { role }).status).toBe(200);
  return shop;
}

const projectRoutes = new Shop().core.routes.filter(({ path }) => path.startsWith("/projects/{project_id}"));
const caller = "personal (member)";

describe("a viewer's key", () => {
  it.each(projectRoutes.map((route) => ({ route, name: `${route.method} ${route.path}` })))(
    "a viewer's key reads and is refused with 403 otherwise: $name",
    ({ route }) => {
      const member = tryCell(new Shop({ branchRecovery: true }), { route, caller, target: "own", expected: 0 });
      const viewer = tryCell(shopWith("viewer"), { route, caller, target: "own", expected: 0 });
      expect(viewer).toBe(route.method === "GET" ? member : 403);
    },
  );

  it("a viewer creates neither a project nor a key in the organization, and reads its members", () => {
    const shop = shopWith("viewer");
    const send = (line: string, body?: object) => shop.send(callers[caller], line, body).status;
    expect([
      send("GET /organizations/org-shop/members"),
      send("POST /projects", { project: { org_id: "org-shop" } }),
      send("POST /organizations/org-shop/api_keys", { key_name: "ci", project_id: project }),
      send("POST /users/me/projects/transfer", { destination_org_id: "org-shop", project_ids: ["bob-own"] }),
    ]).toEqual([200, 403, 403, 403]);
  });
});

describe("the roles of an organization", () => {
  it.each([
    ["admin", "ADMIN", 200],
    ["editor", "EDITOR", 200],
    ["member", "EDITOR", 200],
    ["viewer", "VIEWER", 403],
  ] as const)("%s is shown as %s by its projects, and a change is answered %s", (role, shown, status) => {
    const shop = shopWith(role, { rules: rules.neon });
    const seen = { effective_project_permission: shown };
    expect(shop.send(keys.bob, `GET /projects/${project}`).body["project"]).toMatchObject(seen);
    expect(shop.send(keys.bob, "GET /projects?org_id=org-shop").body["projects"]).toMatchObject([seen, seen]);
    expect(shop.send(keys.bob, `PATCH /projects/${project}`, { project: { name: "next" } }).status).toBe(status);
    const hidden = [shop.send(keys.bob, "GET /projects/bob-own"), shop.send(keys.shop, `GET /projects/${project}`)];
    for (const { body } of hidden) expect(body["project"]).not.toHaveProperty("effective_project_permission");
  });

  it("every call on one project answers with the permission that the list of projects shows", () => {
    const shop = new Shop({ rules: rules.neon });
    const shown = (line: string, body?: object) => z.looseObject({}).parse(shop.ana(line, body).body["project"]);
    const { id, ...made } = shown("POST /projects", { project: { org_id: "org-shop" } });
    shop.finishOperations();
    const path = `/projects/${String(id)}`;
    const changed = shown(`PATCH ${path}`, { project: { name: "next" } });
    const answers = [made, changed, shown(`GET ${path}`), shown(`DELETE ${path}`)];
    expect(answers.map((one) => one["effective_project_permission"])).toEqual(Array(4).fill("ADMIN"));
  });

  it("a collaborator knows the organization and none of its projects, and makes no key for one", () => {
    const shop = shopWith("collaborator");
    expect(shop.send(keys.bob, "GET /organizations/org-shop").status).toBe(200);
    expect(shop.send(keys.bob, `GET /projects/${project}`).status).toBe(404);
    expect(shop.send(keys.bob, "GET /projects?search=shop").body["projects"]).toEqual([]);
    const listed = Object.values(shop.send(keys.bob, "GET /organizations/org-shop/api_keys").body);
    expect(listed).toEqual([expect.objectContaining({ name: "ci" })]);
    const key = { key_name: "theft", project_id: project };
    expect(shop.send(keys.bob, "POST /organizations/org-shop/api_keys", key).status).toBe(403);
    expect(new Visitor(shop.core).signIn("acc-bob").get("/app/keys").html).not.toMatch(/one-project|Project shop/);
  });

  it("the members of a project are those of its organization, each with the permission of its role", () => {
    const shop = shopWith("viewer");
    const { status, body } = shop.send(keys.scoped, `GET /projects/${project}/members`);
    expect([status, body["project_members"]]).toMatchObject([
      200,
      [
        { email: "ana@example.com", org_role: "admin", effective_project_permission: "ADMIN" },
        { email: "bob@example.com", org_role: "viewer", effective_project_permission: "VIEWER" },
      ],
    ]);
    expect(shop.send(keys.ana, "GET /projects/ana-own/members").body["project_members"]).toEqual([]);
    const page = (cursor: string) => shop.ana(`GET /projects/${project}/members?limit=1${cursor}`).body;
    const { pagination, ...first } = page("");
    const { next } = z.object({ next: z.string() }).parse(pagination);
    expect(first).toMatchObject({ project_members: [{ org_role: "admin" }] });
    expect(page(`&cursor=${next}`)).toMatchObject({ project_members: [{ org_role: "viewer" }], pagination: {} });
  });

  it("a collaborator is listed with the members of a project, as one without a permission in it", () => {
    const shop = shopWith("collaborator");
    expect(shop.ana(`GET /projects/${project}/members`).body["project_members"]).toMatchObject([
      { org_role: "admin", grant_source: "org_role_default", org_default_project_permission: "ADMIN" },
      expect.not.objectContaining({ effective_project_permission: expect.anything() }),
    ]);
    expect(shop.ana(`GET /projects/${project}/members`).body["project_members"]).toMatchObject([
      {},
      { org_role: "collaborator", grant_source: "unassigned" },
    ]);
  });

  it.each(memberRoles)("%s is kept as it was given", (role) => {
    const shop = shopWith(role);
    const { members } = shop.ana("GET /organizations/org-shop/members?sort_by=email&sort_order=desc").body;
    expect(members).toMatchObject([{ member: { role } }, { member: { role: "admin" } }]);
  });
});

describe("a key scoped to a project", () => {
  it.each([
    ["specification", "member", 200],
    ["neon", "editor", 403],
    ["neon", "admin", 200],
  ] as const)("under %s the request of a user with the role %s is answered %s", (name, role, status) => {
    const shop = shopWith(role, { rules: rules[name] });
    const body = { key_name: "ci", project_id: project };
    expect(shop.send(keys.bob, "POST /organizations/org-shop/api_keys", body).status).toBe(status);
  });

  it.each([
    ["specification", 40],
    ["neon", 10],
  ] as const)("under %s send %s requests in a second, then 429 with the time to wait", (name, limit) => {
    const shop = new Shop({ rules: rules[name] });
    const send = () => shop.send(keys.scoped, `GET /projects/${project}`);
    for (let sent = 0; sent < limit; sent += 1) expect(send().status).toBe(200);
    expect(send()).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    expect(shop.send(keys.shop, "GET /projects").status).toBe(200);
    shop.time.pass(1000);
    expect(send().status).toBe(200);
  });
});
