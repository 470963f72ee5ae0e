import { beforeEach, expect, it } from "vitest";
import { BranchAnswer } from "../../../src/api/branch.ts";
import { type Answer } from "../support/service.ts";
import { keys, main, preview, primary, project, Shop } from "../support/shop.ts";

const roles = `/projects/${project}/branches/${main}/roles`;
const databases = `/projects/${project}/branches/${main}/databases`;

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

const messageOf = ({ status, body }: Answer) => [status, body["message"]];
const passwordOf = (role: string) => shop.ana(`GET ${roles}/${role}/reveal_password`).body["password"];
const names = (list: unknown) => (Array.isArray(list) ? list.map((item: { name: string }) => item.name) : []);

/** Sends a change that must be accepted, and lets its operations end. */
function changed(line: string, body?: object): Answer {
  const answer = shop.ana(line, body);
  expect([answer.status < 300, answer.body["message"]]).toEqual([true, undefined]);
  shop.finishOperations();
  return answer;
}

it("a role is created with a password, listed, found and deleted", () => {
  const made = changed(`POST ${roles}`, { role: { name: "app" } });
  expect(made.status).toBe(201);
  expect(made.body["role"]).toMatchObject({ name: "app", branch_id: main, password: passwordOf("app") });
  expect(names(shop.ana(`GET ${roles}`).body["roles"])).toEqual(["neondb_owner", "app"]);
  expect(JSON.stringify(shop.ana(`GET ${roles}`).body)).not.toContain("npg_");
  expect(shop.ana(`GET ${roles}/app`).body["role"]).toMatchObject({ name: "app" });
  expect(shop.ana(`GET /projects/${project}/branches/${preview}/roles/app`).status).toBe(404);
  expect(changed(`DELETE ${roles}/app`).body["role"]).toMatchObject({ name: "app" });
  expect(shop.ana(`DELETE ${roles}/app`).status).toBe(204);
  expect(messageOf(shop.ana(`GET ${roles}/app`))).toEqual([404, "role not found"]);
});

it("a role has another password after it was reset, and so has a later one of its name", () => {
  const first = passwordOf("neondb_owner");
  const reset = changed(`POST ${roles}/neondb_owner/reset_password`);
  const second = passwordOf("neondb_owner");
  expect(reset.body["role"]).toMatchObject({ password: second });
  expect(second).not.toBe(first);
  const uri = `GET /projects/${project}/connection_uri?database_name=neondb&role_name=neondb_owner`;
  expect(shop.ana(uri).body["uri"]).toContain(String(second));
  changed(`POST ${roles}`, { role: { name: "app" } });
  const before = passwordOf("app");
  changed(`DELETE ${roles}/app`);
  changed(`POST ${roles}`, { role: { name: "app" } });
  expect(passwordOf("app")).not.toBe(before);
});

it("a database of a role that SQL has made is renamed, keeps its owner, and is given to no other such role", () => {
  const sqls = { branchId: main, name: "own", ownerName: "reporter", createdAt: 0, updatedAt: 0 };
  shop.core.change(({ store }) => store.catalogs.insertDatabase(sqls));
  const renamed = changed(`PATCH ${databases}/own`, { database: { name: "reports" } });
  expect(renamed.body["database"]).toMatchObject({ name: "reports", owner_name: "reporter" });
  const given = shop.ana(`PATCH ${databases}/neondb`, { database: { owner_name: "reporter" } });
  expect(messageOf(given)).toEqual([404, 'role "reporter" not found']);
});

it("a branch's first role that is deleted and made again has another password than the one that was given away", () => {
  const leaked = passwordOf("neondb_owner");
  changed(`DELETE ${databases}/neondb`);
  changed(`DELETE ${roles}/neondb_owner`);
  const made = changed(`POST ${roles}`, { role: { name: "neondb_owner" } });
  expect(made.body["role"]).toMatchObject({ password: passwordOf("neondb_owner") });
  const passwords = [leaked, passwordOf("neondb_owner")];
  changed(`DELETE ${roles}/neondb_owner`);
  changed(`POST ${roles}`, { role: { name: "neondb_owner" } });
  expect(new Set([...passwords, passwordOf("neondb_owner")]).size).toBe(3);
});

it("a role that a reset brings back has another password, and a role that the branch has keeps its own", () => {
  const own = `/projects/${project}/branches/${preview}/roles`;
  const ownPassword = (role: string) => shop.ana(`GET ${own}/${role}/reveal_password`).body["password"];
  changed(`POST ${roles}`, { role: { name: "app" } });
  const reset = () => changed(`POST /projects/${project}/branches/${preview}/restore`, { source_branch_id: main });
  reset();
  const [leaked, kept] = [ownPassword("app"), ownPassword("neondb_owner")];
  changed(`DELETE ${own}/app`);
  reset();
  expect(ownPassword("app")).not.toBe(leaked);
  expect(ownPassword("app")).not.toBe(passwordOf("app"));
  expect(ownPassword("neondb_owner")).toBe(kept);
});

it("a role that is deleted where it came with the branch, and made again, has another password", () => {
  const made = changed(`POST /projects/${project}/branches`, { branch: { name: "young" } });
  const { branch } = BranchAnswer.parse(made.body);
  const own = `/projects/${project}/branches/${branch.id}`;
  const ownPassword = () => shop.ana(`GET ${own}/roles/neondb_owner/reveal_password`).body["password"];
  const leaked = ownPassword();
  changed(`DELETE ${own}/databases/neondb`);
  changed(`DELETE ${own}/roles/neondb_owner`);
  changed(`POST ${own}/roles`, { role: { name: "neondb_owner" } });
  expect(ownPassword()).not.toBe(leaked);
});

it("a role is created without starting a primary that is disabled", () => {
  shop.patch(primary, { disabled: true });
  const made = changed(`POST ${roles}`, { role: { name: "app" } });
  expect([made.status, made.body["operations"], shop.get(primary).current_state]).toEqual([201, [], "idle"]);
});

it("a change of roles restarts the replicas that run where the primary is disabled or gone", () => {
  shop.patch(primary, { disabled: true });
  const made = changed(`POST /projects/${project}/endpoints`, { endpoint: { branch_id: main, type: "read_only" } });
  const replica = idIn(made.body["endpoint"]);
  const restart = [{ endpoint_id: replica, action: "apply_config" }];
  expect(changed(`POST ${roles}/neondb_owner/reset_password`).body["operations"]).toMatchObject(restart);
  changed(`DELETE /projects/${project}/endpoints/${primary}`);
  expect(changed(`POST ${roles}`, { role: { name: "app" } }).body["operations"]).toMatchObject(restart);
  changed(`POST /projects/${project}/endpoints/${replica}/suspend`);
  expect(changed(`DELETE ${roles}/app`).body["operations"]).toEqual([]);
});

it("a role is created on no branch whose creation has failed", () => {
  shop.core.setFaults([{ method: "POST", route: "*", kind: "fail-operations", count: 1 }]);
  const call = { method: "POST", path: `/api/v2/projects/${project}/branches` };
  shop.core.exchange({
    ...call,
    headers: { authorization: `Bearer ${keys.ana}` },
    body: '{"branch": {"name": "lost"}}',
  });
  shop.finishOperations();
  const [lost] = shop.core.context.store.branches.list(project).filter(({ name }) => name === "lost");
  const answer = shop.ana(`POST /projects/${project}/branches/${lost?.id}/roles`, { role: { name: "app" } });
  expect(messageOf(answer)).toEqual([422, "branch not ready yet"]);
});

it("a database that a client has given to another role with SQL was changed then", () => {
  changed(`POST ${roles}`, { role: { name: "app" } });
  const given = [{ name: "neondb", ownerName: "app" }];
  const at = shop.time.now();
  shop.core.change(({ store }) => store.catalogs.takeOver(main, { dropped: [], created: [], given }, at));
  expect(shop.ana(`GET ${databases}/neondb`).body["database"]).toMatchObject({
    owner_name: "app",
    updated_at: new Date(at).toISOString(),
  });
});

it("a database that a client has created with SQL was created and last changed then", () => {
  const created = [{ name: "made", ownerName: "neondb_owner" }];
  const at = shop.time.now();
  shop.core.change(({ store }) => store.catalogs.takeOver(main, { dropped: [], created, given: [] }, at));
  const then = new Date(at).toISOString();
  const shown = shop.ana(`GET ${databases}/made`).body["database"];
  expect(shown).toMatchObject({ owner_name: "neondb_owner", created_at: then, updated_at: then });
});

it("a role that cannot log in has no password", () => {
  const made = changed(`POST ${roles}`, { role: { name: "group", no_login: true } });
  expect(made.body["role"]).toMatchObject({ authentication_method: "no_login" });
  expect(made.body["role"]).not.toHaveProperty("password");
  expect(shop.ana(`GET ${roles}/group/reveal_password`).status).toBe(404);
  expect(shop.ana(`POST ${roles}/group/reset_password`).status).toBe(422);
  const uri = `GET /projects/${project}/connection_uri?database_name=neondb&role_name=group`;
  expect(shop.ana(uri).body["uri"]).toMatch(/^postgresql:\/\/group@/);
});

it("a role has no connection to a branch by a compute of another one", () => {
  const uri = (query: string) =>
    shop.ana(`GET /projects/${project}/connection_uri?database_name=neondb&role_name=neondb_owner&${query}`);
  expect(messageOf(uri(`branch_id=${preview}&endpoint_id=${primary}`))).toEqual([404, "endpoint not found"]);
  for (const query of [`branch_id=${main}&endpoint_id=${primary}`, `endpoint_id=${primary}`]) {
    expect(uri(query)).toMatchObject({ status: 200, body: { uri: expect.stringContaining(primary) } });
  }
});

it("a compute that is named alone leads to the roles and databases of its own branch, not of the default one", () => {
  const ofPreview = `/projects/${project}/branches/${preview}`;
  const { id } = shop.create({ branch_id: preview, type: "read_write" }).endpoint;
  shop.finishOperations();
  changed(`POST ${ofPreview}/roles`, { role: { name: "guest" } });
  changed(`POST ${ofPreview}/databases`, { database: { name: "guests", owner_name: "guest" } });
  changed(`POST ${roles}`, { role: { name: "of_main" } });
  const uri = (database: string, role: string) =>
    shop.ana(`GET /projects/${project}/connection_uri?endpoint_id=${id}&database_name=${database}&role_name=${role}`);
  const { password } = shop.ana(`GET ${ofPreview}/roles/guest/reveal_password`).body;
  expect(uri("guests", "guest").body["uri"]).toMatch(
    new RegExp(`^postgresql://guest:${String(password)}@${id}.*/guests`),
  );
  expect(messageOf(uri("guests", "of_main"))).toEqual([404, "role not found"]);
});

it("a role shows no password where the project does not store them", () => {
  const made = shop.ana("POST /projects", { project: { store_passwords: false } });
  const { id, branch } = { id: idIn(made.body["project"]), branch: idIn(made.body["branch"]) };
  const answer = shop.ana(`GET /projects/${id}/branches/${branch}/roles/neondb_owner/reveal_password`);
  expect(messageOf(answer)).toEqual([412, expect.stringContaining("does not store passwords")]);
  const uri = `GET /projects/${id}/connection_uri?database_name=neondb&role_name=neondb_owner`;
  expect(shop.ana(uri).body["uri"]).toMatch(/^postgresql:\/\/neondb_owner@/);
  shop.finishOperations();
  const reset = shop.ana(`POST /projects/${id}/branches/${branch}/roles/neondb_owner/reset_password`);
  expect(reset.body["role"]).toMatchObject({ password: expect.stringMatching(/^npg_/) });
});

it.each([
  ["neondb_owner", 409, 'role "neondb_owner" already exists'],
  ["pg_monitor", 400, "keeps for itself"],
  ["public", 400, "keeps for itself"],
  ["none", 400, "keeps for itself"],
  [" ", 400, "must be a name of 1 to 63 bytes"],
  [".", 400, "which no path can name"],
  ["..", 400, "which no path can name"],
  ["ä".repeat(32), 400, "must be a name of 1 to 63 bytes"],
])("a role named %j is refused", (name, status, message) => {
  expect(messageOf(shop.ana(`POST ${roles}`, { role: { name } }))).toEqual([status, expect.stringContaining(message)]);
});

it("a role that owns databases is not deleted, and the oldest of them is named", () => {
  changed(`POST ${databases}`, { database: { name: "another", owner_name: "neondb_owner" } });
  expect(messageOf(shop.ana(`DELETE ${roles}/neondb_owner`))).toEqual([
    422,
    'role "neondb_owner" owns database "neondb": delete that before, or give it another owner',
  ]);
});

it("a database is created, listed, found, renamed, given to another role, and deleted", () => {
  changed(`POST ${roles}`, { role: { name: "app" } });
  const made = changed(`POST ${databases}`, { database: { name: "shop", owner_name: "app" } });
  expect([made.status, made.body["database"]]).toMatchObject([201, { name: "shop", owner_name: "app" }]);
  expect(names(shop.ana(`GET ${databases}`).body["databases"])).toEqual(["neondb", "shop"]);
  const owner = { database: { name: "store", owner_name: "neondb_owner" } };
  expect(changed(`PATCH ${databases}/shop`, owner).body["database"]).toMatchObject(owner.database);
  expect(shop.ana(`GET ${databases}/shop`).status).toBe(404);
  expect(shop.ana(`GET ${databases}/store`).body["database"]).toMatchObject(owner.database);
  expect(changed(`DELETE ${databases}/store`).status).toBe(200);
  expect(shop.ana(`DELETE ${databases}/store`).status).toBe(204);
});

it.each([
  [{ name: "neondb", owner_name: "neondb_owner" }, 409, 'database "neondb" already exists'],
  [{ name: "shop", owner_name: "nobody" }, 404, 'role "nobody" not found'],
  [{ name: "\t", owner_name: "neondb_owner" }, 400, "not only white space"],
  [{ name: "shop" }, 400, "database.owner_name"],
])("the database %j is refused", (database, status, message) => {
  expect(messageOf(shop.ana(`POST ${databases}`, { database }))).toEqual([status, expect.stringContaining(message)]);
});

it("a change of roles or databases is applied to the running primary, which drops its connections and stays active", () => {
  shop.active();
  shop.connect(primary, 600);
  const answer = shop.ana(`POST ${roles}`, { role: { name: "app" } });
  expect(answer.body["operations"]).toMatchObject([
    { action: "apply_config", status: "running", endpoint_id: primary },
  ]);
  expect(shop.core.context.store.connections.any(primary)).toBe(false);
  expect(shop.finishOperations().get(primary).current_state).toBe("active");
});

it("the answer to each change of roles or databases has the operation that applies it", () => {
  shop.active();
  for (const [line, body] of [
    [`POST ${roles}`, { role: { name: "app" } }],
    [`POST ${roles}/app/reset_password`],
    [`POST ${databases}`, { database: { name: "notes", owner_name: "app" } }],
    [`PATCH ${databases}/notes`, { database: { name: "texts" } }],
    [`DELETE ${databases}/texts`],
    [`DELETE ${roles}/app`],
  ] as const) {
    const { operations } = changed(line, body).body;
    expect([line, operations]).toMatchObject([line, [{ action: "apply_config", endpoint_id: primary }]]);
  }
});

it("a change of roles or databases brings an idle primary up for a moment", () => {
  const answer = shop.ana(`POST ${roles}`, { role: { name: "app" } });
  expect(answer.body["operations"]).toMatchObject([
    { action: "apply_config", status: "running" },
    { action: "suspend_compute", status: "scheduling" },
  ]);
  expect(shop.finishOperations().get(primary).current_state).toBe("idle");
});

it("a change of roles or databases needs no operation on a branch without a compute", () => {
  const answer = shop.ana(`POST /projects/${project}/branches/${preview}/roles`, { role: { name: "app" } });
  expect([answer.status, answer.body["operations"]]).toEqual([201, []]);
});

it("a change of roles or databases waits for the operations of the project", () => {
  changed(`POST ${roles}`, { role: { name: "app" } });
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  const statuses = [
    shop.ana(`POST ${roles}`, { role: { name: "other" } }),
    shop.ana(`DELETE ${roles}/app`),
    shop.ana(`POST ${roles}/neondb_owner/reset_password`),
    shop.ana(`POST ${databases}`, { database: { name: "shop", owner_name: "neondb_owner" } }),
    shop.ana(`PATCH ${databases}/neondb`, { database: { name: "shop" } }),
    shop.ana(`DELETE ${databases}/neondb`),
  ].map(({ status }) => status);
  expect(statuses).toEqual([423, 423, 423, 423, 423, 423]);
  expect(names(shop.ana(`GET ${roles}`).body["roles"])).toEqual(["neondb_owner", "app"]);
});

it("a change of roles or databases waits for the project's operations on a branch without a compute, too", () => {
  const own = `/projects/${project}/branches/${preview}`;
  changed(`POST ${own}/roles`, { role: { name: "app" } });
  changed(`POST ${own}/databases`, { database: { name: "shop", owner_name: "neondb_owner" } });
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  const statuses = [
    shop.ana(`POST ${own}/roles`, { role: { name: "other" } }),
    shop.ana(`DELETE ${own}/roles/app`),
    shop.ana(`POST ${own}/roles/app/reset_password`),
    shop.ana(`POST ${own}/databases`, { database: { name: "store", owner_name: "neondb_owner" } }),
    shop.ana(`PATCH ${own}/databases/shop`, { database: { name: "store" } }),
    shop.ana(`DELETE ${own}/databases/shop`),
  ].map(({ status }) => status);
  expect(statuses).toEqual([423, 423, 423, 423, 423, 423]);
});

it("a database that is changed to what it is is answered at once, and nothing is done for it", () => {
  shop.write(`POST /projects/${project}/endpoints/${primary}/start`);
  const before = shop.ana(`GET ${databases}/neondb`).body["database"];
  for (const database of [{}, { name: "neondb" }, { owner_name: "neondb_owner" }]) {
    const { status, body } = shop.ana(`PATCH ${databases}/neondb`, { database });
    expect([status, body["database"], body["operations"]]).toEqual([200, before, []]);
  }
  expect(shop.ana(`PATCH ${databases}/neondb`, { database: { owner_name: "nobody" } }).status).toBe(404);
});

function idIn(value: unknown): string {
  return typeof value === "object" && value !== null && "id" in value ? String(value.id) : "";
}

it("a branch has at most 500 roles and 500 databases by the API, and room again after one is deleted", () => {
  for (const [what, path] of [
    ["role", roles],
    ["database", databases],
  ] as const) {
    const make = (name: string) =>
      shop.ana(`POST ${path}`, { [what]: { name, owner_name: what === "role" ? undefined : "neondb_owner" } });
    shop.core.change(({ catalog }, at) => {
      for (let number = 1; number < 499; number += 1) {
        if (what === "role") catalog.createRole(main, { name: `n${number}`, login: number % 2 === 0 }, at);
        else catalog.createDatabase(main, { name: `n${number}`, ownerName: "neondb_owner" }, at);
      }
    });
    expect(messageOf(make("n499"))).toEqual([201, undefined]);
    shop.finishOperations();
    const full = [422, `${what}s limit exceeded: a branch has at most 500 ${what}s, so delete one first`];
    expect(messageOf(make("n500"))).toEqual(full);
    expect(messageOf(make("n1"))).toEqual([409, `${what} "n1" already exists`]);
    changed(`DELETE ${path}/n1`);
    expect(messageOf(make("n500"))).toEqual([201, undefined]);
    shop.finishOperations();
  }
});
