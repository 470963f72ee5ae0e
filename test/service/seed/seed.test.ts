import { describe, expect, it, vi } from "vitest";
import { BranchAnswer } from "../../../src/api/branch.ts";
import { ProjectOnly } from "../../../src/service/http/shapes.ts";
import { type SeedInput, TestService } from "../support/service.ts";
import { keys, Shop, project as shopProject, shopSeed } from "../support/shop.ts";

/** Every field that a seed may have, in an order that is not that of the references in it. */
const full = {
  accounts: [
    { id: "acc-a", email: "a@example.com", name: "Ada", plan: "scale", apiKeys: [{ name: "laptop", key: "a-key" }] },
    {
      id: "acc-b",
      email: "b@example.com",
      apiKeys: [
        { name: "phone", key: "b-key" },
        { name: "desk", key: "b2-key" },
      ],
    },
  ],
  organizations: [
    {
      id: "org-a",
      name: "A company",
      plan: "scale",
      members: [
        { account: "acc-b", role: "viewer" },
        { account: "acc-a", role: "admin" },
      ],
      apiKeys: [
        { name: "ci", key: "org-key" },
        { name: "one", key: "scoped-key", projectID: "pro-full" },
      ],
    },
    { id: "org-b", members: [{ account: "acc-b", role: "admin" }] },
  ],
  projects: [
    {
      id: "pro-full",
      name: "all of it",
      owner: "org-a",
      regionID: "aws-eu-central-1",
      pgVersion: 16,
      branches: [
        { id: "br-side", name: "side", protected: true, databases: [{ name: "extra", owner: "app" }] },
        { id: "br-main", name: "trunk", default: true, roles: ["app"], databases: [{ name: "shop" }] },
        { id: "br-bare" },
      ],
      endpoints: [
        { id: "ep-main", branchID: "br-main", type: "read_write", autoscaling_limit_max_cu: 2, name: "first" },
        { branchID: "br-main", type: "read_only", disabled: true, suspend_timeout_seconds: 60 },
      ],
    },
    { id: "pro-bare", owner: "acc-b" },
    { id: "pro-none", owner: "org-a", endpoints: [] },
  ],
} satisfies SeedInput;

const planted = () => new TestService().applySeed(full);

describe("a seed", () => {
  it("a seed makes accounts, organizations and members as it names them, and gives what it leaves out", () => {
    const service = planted();
    const me = (key: string) => service.send(key, "GET /users/me").body;
    expect(me("a-key")).toMatchObject({ id: "acc-a", email: "a@example.com", name: "Ada", plan: "scale" });
    expect(me("b-key")).toMatchObject({ id: "acc-b", email: "b@example.com", name: "b@example.com", plan: "free" });
    const organization = (key: string, id: string) => service.send(key, `GET /organizations/${id}`).body;
    expect(organization("a-key", "org-a")).toMatchObject({ name: "A company", plan: "scale" });
    expect(organization("b-key", "org-b")).toMatchObject({ name: "org-b", plan: "free" });
    const { members } = service.send("a-key", "GET /organizations/org-a/members?sort_by=email&sort_order=asc").body;
    expect(members).toMatchObject([
      { user: { email: "a@example.com" }, member: { role: "admin" } },
      { user: { email: "b@example.com" }, member: { role: "viewer" } },
    ]);
  });

  it("a seed makes keys of accounts, of organizations and for one project, each with its name and reach", () => {
    const service = planted();
    const names = (key: string, path: string) =>
      Object.values(service.send(key, `GET ${path}`).body).map((one) => Object(one).name);
    expect(names("b2-key", "/api_keys")).toEqual(["phone", "desk"]);
    expect(names("org-key", "/organizations/org-a/api_keys")).toEqual(["ci", "one"]);
    // The organization's administrator has made them, wherever it stands among the members.
    const made = Object.values(service.send("a-key", "GET /organizations/org-a/api_keys").body);
    expect(made).toMatchObject([{ created_by: { name: "Ada" } }, { created_by: { name: "Ada" } }]);
    const status = (id: string) => service.send("scoped-key", `GET /projects/${id}`).status;
    expect([status("pro-full"), status("pro-none")]).toEqual([200, 404]);
  });

  it("a seed makes projects as it names them, and gives what it leaves out", () => {
    const service = planted();
    const show = (id: string, key = "a-key") => service.send(key, `GET /projects/${id}`).body["project"];
    expect(show("pro-full")).toMatchObject({ name: "all of it", region_id: "aws-eu-central-1", pg_version: 16 });
    expect(show("pro-full")).toMatchObject({ org_id: "org-a" });
    expect(show("pro-bare", "b-key")).toMatchObject({ name: "pro-bare", region_id: "aws-us-east-2", pg_version: 17 });
  });

  it("a seed makes branches of the default one, each with its own roles and databases beside those of the default one", () => {
    const service = planted();
    const branch = (id: string) =>
      BranchAnswer.parse(service.send("a-key", `GET /projects/pro-full/branches/${id}`).body).branch;
    const side = { name: "side", parent_id: "br-main", default: false, protected: true, current_state: "ready" };
    expect(branch("br-side")).toMatchObject(side);
    expect(branch("br-main")).toMatchObject({ name: "trunk", default: true, protected: false });
    expect(branch("br-main")["parent_id"]).toBeUndefined();
    expect(branch("br-bare")).toMatchObject({ name: "br-bare", parent_id: "br-main", protected: false });
    const { catalog } = service.core.context;
    const shown = (id: string) => [
      ...catalog.roles(id).map(({ name, login }) => `${name}${login ? "" : " without login"}`),
      ...catalog.databases(id).map(({ name, ownerName }) => `${name} of ${ownerName}`),
    ];
    const main = ["app", "neondb_owner", "neondb of neondb_owner", "shop of neondb_owner"];
    expect(shown("br-main").toSorted()).toEqual(main.toSorted());
    expect(shown("br-bare").toSorted()).toEqual(main.toSorted());
    expect(shown("br-side").toSorted()).toEqual([...main, "extra of app"].toSorted());
  });

  it("a seed that names the role that each branch begins with leaves it its password, which is the same after each reset", () => {
    const password = (roles: string[]) => {
      const { catalog } = new TestService().applySeed({
        accounts: [{ id: "acc-a", email: "a@example.com" }],
        projects: [{ id: "p", owner: "acc-a", branches: [{ id: "br-a", roles }] }],
      }).core.context;
      return catalog.roles("br-a").map((role) => role.passwordSource);
    };
    expect(password(["neondb_owner"])).toEqual(password([]));
  });

  it("a seed makes the computes that it names, idle and without operations, or the primary one, or none", () => {
    const service = planted();
    const endpoints = (id: string, key = "a-key") =>
      service.send(key, `GET /projects/${id}/endpoints`).body["endpoints"];
    const first = {
      id: "ep-main",
      branch_id: "br-main",
      type: "read_write",
      autoscaling_limit_max_cu: 2,
      name: "first",
    };
    const second = { branch_id: "br-main", type: "read_only", disabled: true, suspend_timeout_seconds: 60 };
    const state = { current_state: "idle", region_id: "aws-eu-central-1" };
    expect(endpoints("pro-full")).toMatchObject([
      { ...first, ...state },
      { ...second, ...state },
    ]);
    expect(endpoints("pro-none")).toEqual([]);
    const [only] = [endpoints("pro-bare", "b-key")].flat();
    expect(only).toMatchObject({
      type: "read_write",
      disabled: false,
      current_state: "idle",
      region_id: "aws-us-east-2",
    });
    expect(service.send("b-key", "GET /projects/pro-bare/branches").body["branches"]).toMatchObject([
      { id: Object(only).branch_id, name: "main", default: true, protected: false },
    ]);
    expect(service.send("a-key", "GET /projects/pro-full/operations").body["operations"]).toEqual([]);
  });

  it("a seed given again at a later start changes nothing of what clients have changed since", () => {
    const service = planted();
    service.send("a-key", "PATCH /projects/pro-full", { project: { name: "renamed" } });
    service.send("b-key", "DELETE /projects/pro-bare/endpoints/none");
    service.send(undefined, "DELETE /_admin/organizations/org-a/members/acc-b");
    const [first] = Object.values(service.send("a-key", "GET /api_keys").body);
    service.send("a-key", `DELETE /api_keys/${Object(first).id}`);
    const dump = () =>
      [
        "accounts",
        "organizations",
        "members",
        "api_keys",
        "projects",
        "branches",
        "roles",
        "databases",
        "endpoints",
      ].map((table) => service.database.all(`SELECT * FROM ${table}`));
    const before = dump();
    service.time.pass(86_400_000);
    service.applySeed(full);
    expect(dump()).toEqual(before);
    expect(service.send("a-key", "GET /users/me").status).toBe(401);
  });
});

it("a seed given again is taken whatever clients have deleted or made since", () => {
  const shop = new Shop();
  const key = { name: "of-made", key: "made-key" };
  const made = ProjectOnly.parse(shop.ana("POST /projects", { project: { org_id: "org-shop" } }).body).project.id;
  const organizations = shopSeed.organizations.map((one) =>
    one.id === "org-shop" ? { ...one, apiKeys: [{ ...key, projectID: made }] } : one,
  );
  shop.applySeed({ ...shopSeed, organizations });
  shop.finishOperations();
  expect(shop.send("made-key", "GET /auth").status).toBe(200);
  for (const id of [made, shopProject]) expect(shop.send(keys.shop, `DELETE /projects/${id}`).status).toBe(200);
  const counted = vi.spyOn(shop.core.context.store.projects, "countWithin").mockReturnValue(12_000);
  expect(shop.ana("POST /projects", { project: { org_id: "org-shop" } }).status).toBe(422);
  shop.applySeed({ ...shopSeed, organizations });
  counted.mockRestore();
  expect(shop.send(keys.shop, `GET /projects/${shopProject}`).status).toBe(200);
  expect(shop.send("made-key", "GET /auth").status).toBe(401);
});

it("a key that a later seed adds to an account or an organization works, beside those that were there", () => {
  const service = planted();
  service.applySeed({
    ...full,
    accounts: full.accounts.map((one) => ({ ...one, apiKeys: [{ name: "late", key: `late-${one.id}` }] })),
    organizations: full.organizations.map((one) => ({ ...one, apiKeys: [{ name: "late", key: `late-${one.id}` }] })),
  });
  const accounts = ["late-acc-a", "late-org-a", "a-key", "org-key"].map((key) => service.send(key, "GET /auth").body);
  expect(accounts.map((body) => body["account_id"])).toEqual(["acc-a", "org-a", "acc-a", "org-a"]);
});

it("a later seed that adds a key in the name of an account that is not there is refused, and says which", () => {
  const apiKeys = [{ name: "late", key: "late-key" }];
  const later = { organizations: [{ ...organizationOf("acc-z"), apiKeys }] };
  expect(() => planted().applySeed(later)).toThrow("organization org-a names account acc-z, which does not exist");
});

const account = { id: "acc-a", email: "a@example.com", plan: "scale" as const };
const branches = [{ id: "br-a", default: true }];
const project = { id: "pro-a", owner: "acc-a", branches };
const primary = { branchID: "br-a", type: "read_write" as const };

it.each<[string, SeedInput]>([
  [
    "account acc-b has the email a@example.com, which another one has",
    { accounts: [account, { ...account, id: "acc-b" }] },
  ],
  ["organization org-a names account acc-z, which does not exist", { organizations: [organizationOf("acc-z")] }],
  [
    "key one of organization org-a names project pro-z, which does not exist",
    {
      accounts: [account],
      organizations: [{ ...organizationOf("acc-a"), apiKeys: [{ name: "one", key: "k", projectID: "pro-z" }] }],
    },
  ],
  ["project pro-a, owner: account or organization acc-a not found", { projects: [project] }],
  [
    "branch id br-a stands twice",
    { accounts: [account], projects: [project, { id: "pro-b", owner: "acc-a", branches }] },
  ],
  [
    "database d of branch br-a names owner app, which is no role of that branch",
    {
      accounts: [account],
      projects: [{ ...project, branches: [{ id: "br-a", databases: [{ name: "d", owner: "app" }] }] }],
    },
  ],
  [
    "database neondb of branch br-a has two owners: neondb_owner and app",
    {
      accounts: [account],
      projects: [
        { ...project, branches: [{ id: "br-a", roles: ["app"], databases: [{ name: "neondb", owner: "app" }] }] },
      ],
    },
  ],
  [
    "a compute of project pro-a names branch br-z, which is not in that project",
    { accounts: [account], projects: [{ ...project, endpoints: [{ ...primary, branchID: "br-z" }] }] },
  ],
  [
    "a compute of project pro-b names branch br-a, which is not in that project",
    {
      accounts: [account],
      projects: [project, { id: "pro-b", owner: "acc-a", endpoints: [{ branchID: "br-a", type: "read_only" }] }],
    },
  ],
  [
    "branch br-a has two read_write computes: it can have one",
    { accounts: [account], projects: [{ ...project, endpoints: [primary, primary] }] },
  ],
  [
    "compute id ep-a is that of another project's",
    {
      accounts: [account],
      projects: [
        { ...project, endpoints: [{ ...primary, id: "ep-a" }] },
        {
          id: "pro-b",
          owner: "acc-a",
          branches: [{ id: "br-b" }],
          endpoints: [{ id: "ep-a", branchID: "br-b", type: "read_write" }],
        },
      ],
    },
  ],
])("a seed is refused as a whole: %s", (message, seed) => {
  const service = new TestService();
  expect(() => service.applySeed(seed)).toThrow(message);
  expect(service.database.all("SELECT * FROM accounts")).toEqual([]);
});

function organizationOf(id: string) {
  return { id: "org-a", members: [{ account: id, role: "admin" as const }] };
}
