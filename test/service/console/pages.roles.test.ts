import { beforeEach, expect, it, vi } from "vitest";
import { main, preview, primary, project, Shop } from "../support/shop.ts";
import { problemIn, textOf, Visitor } from "./visitor.ts";

const branch = `/app/projects/${project}/branches/${main}`;
const page = `${branch}/roles`;
const base = `/projects/${project}/branches/${main}`;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

/** The names in the page's two tables. */
function names(path = page, visitor = ana): { databases: string[]; roles: string[] } {
  const { html } = visitor.get(path);
  const of = (id: string) =>
    [
      ...(new RegExp(`<section id="${id}".*?</section>`, "s").exec(html)?.[0] ?? "").matchAll(
        /<th scope="row"><code>([^<]*)</g,
      ),
    ].map(([, name = ""]) => name);
  return { databases: of("databases"), roles: of("roles") };
}

it("the page of roles and databases is linked from the branch, and creates and deletes both", () => {
  expect(ana.get(branch).html).toContain(`href="${page}"`);
  expect(names()).toEqual({ databases: ["neondb"], roles: ["neondb_owner"] });
  expect(textOf(ana.post(page, { name: " app ", login: "true" }))).toContain("The role app is created.");
  shop.finishOperations();
  ana.post(page, { name: "group" });
  shop.finishOperations();
  expect(textOf(ana.post(`${branch}/databases`, { name: " stock ", owner: "app" }))).toContain(
    "The database stock is created.",
  );
  shop.finishOperations();
  expect(names()).toEqual({ databases: ["neondb", "stock"], roles: ["neondb_owner", "app", "group"] });
  const { catalog } = shop.core.context;
  expect([catalog.role(main, "app")?.login, catalog.role(main, "group")?.login]).toEqual([true, false]);
  expect(textOf(ana.get(page))).toContain("cannot log in");
  shop.time.pass(3_600_000);
  expect(textOf(ana.get(page))).toContain(" stock app 2026-01-01 00:00 UTC ");
  expect(textOf(ana.get(page))).toMatch(/ group cannot log in 2026-01-01 00:00 UTC /);
  ana.post(`${branch}/databases/delete`, { name: "stock" });
  shop.finishOperations();
  expect(textOf(ana.post(`${page}/delete`, { name: "app" }))).toContain("The role app is deleted.");
  expect(names()).toEqual({ databases: ["neondb"], roles: ["neondb_owner", "group"] });
});

it("the page of roles resets a password, and shows none, neither the old nor the new one", () => {
  const { catalog } = shop.core.context;
  const password = () => {
    const role = catalog.role(main, "neondb_owner");
    return role ? catalog.passwordOf(role) : "";
  };
  const before = password();
  const seen = ana.post(`${page}/reset`, { name: "neondb_owner" });
  expect(textOf(seen)).toContain("has another password. The page of a compute shows it.");
  expect(password()).not.toBe(before);
  for (const secret of [before, password()]) expect(seen.html).not.toContain(secret);
});

it.each([
  ["a role that owns a database", () => ana.post(`${page}/delete`, { name: "neondb_owner" }), 422],
  ["a role that is there already", () => ana.post(page, { name: "neondb_owner", login: "true" }), 409],
  ["a database of nobody", () => ana.post(`${branch}/databases`, { name: "x", owner: "nobody" }), 404],
  ["a role without a name", () => ana.post(page, { name: " " }), 400],
])("the page of roles refuses %s in words, and stays the page of roles", (_, send, status) => {
  const seen = send();
  expect([seen.status, problemIn(seen) === "", textOf(seen).includes("Roles and databases")]).toEqual([
    status,
    false,
    true,
  ]);
  expect(names()).toEqual({ databases: ["neondb"], roles: ["neondb_owner"] });
});

/** What a browser sends of a value: it has line breaks of its own, and of a choice without a value its words. */
function sent(value: string | undefined, words = ""): string {
  return (value ?? words.trim().replaceAll(/\s+/g, " ")).replaceAll("&#39;", "'").replaceAll(/\r\n?|\n/g, "\r\n");
}

it.each(["..", ".", "a/../../delete", `<b>"'&`, "%2e%2e", "50%", "a\nb", "a\r\nb", " a  b\t"])(
  "the forms of a role named %j are those of the role alone",
  (name) => {
    shop.ana(`POST ${base}/roles`, { role: { name } });
    shop.finishOperations();
    const { html } = ana.get(page);
    const actions = [...html.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action = ""]) => action);
    expect(new Set(actions)).toEqual(
      new Set(["/app/sign-out", `${branch}/databases/delete`, `${page}/reset`, `${page}/delete`]),
    );
    const deletions = html.matchAll(/action="[^"]+roles\/delete">.*?name="name" value="([^"]*)"/gs);
    ana.post(`${page}/delete`, { name: sent([...deletions].at(-1)?.[1]) });
    shop.finishOperations();
    expect(names().roles).toEqual(["neondb_owner"]);
    expect(shop.core.context.store.branches.get(project, main)).toBeDefined();
  },
);

it.each(["a b", "a  b", "a\nb"])("the role %j is chosen for itself, and not for one with other spaces", (name) => {
  for (const role of ["a b", "a  b", "a\nb"]) {
    shop.ana(`POST ${base}/roles`, { role: { name: role } });
    shop.finishOperations();
  }
  const chosen = (html: string) => sent(new RegExp(`<option(?: value="([^"]*)")?>${name}<`).exec(html)?.[1], name);
  ana.post(`${branch}/databases`, { name: "stock", owner: chosen(ana.get(page).html) });
  expect(shop.core.context.catalog.database(main, "stock")?.ownerName).toBe(name);
  const compute = `${branch}/computes/${primary}`;
  const query = new URLSearchParams({ role: chosen(ana.get(compute).html) }).toString();
  expect(ana.get(`${compute}?${query}`).html).toContain(`postgresql://${encodeURIComponent(name)}:`);
});

it("the page of 10,000 roles shows 50 of them, finds one by its name, and offers 400 as owners", () => {
  shop.core.change(({ catalog }, at) => {
    for (let index = 0; index < 10_000; index += 1) catalog.createRole(main, { name: `r${index}`, login: false }, at);
  });
  expect(names().roles).toHaveLength(50);
  const { html } = ana.get(page);
  expect([textOf(ana.get(page)), html.match(/<option value="(neondb_owner|r\d+)">/g)?.length]).toEqual([
    expect.stringContaining("Page 1 of 201"),
    400,
  ]);
  expect(html.length).toBeLessThan(150_000);
  expect(names(`${page}?search=r9999`).roles).toEqual(["r9999"]);
  expect(textOf(ana.get(`${page}?search=none-like-it`))).toContain("None like this.");
});

it("another account sees and changes no roles, and a viewer changes none", () => {
  const eve = new Visitor(shop.core).signIn("acc-eve");
  expect(eve.get(page).status).toBe(404);
  for (const path of [page, `${page}/reset`, `${page}/delete`, `${branch}/databases`, `${branch}/databases/delete`])
    expect([path, eve.post(path, { name: "neondb_owner" }).status]).toEqual([path, 404]);
  shop.core.change(({ store }, joinedAt) =>
    store.accounts.putMember({ organizationId: "org-shop", accountId: "acc-bob", role: "viewer", joinedAt }),
  );
  const bob = new Visitor(shop.core).signIn("acc-bob");
  expect([bob.get(page).status, bob.post(page, { name: "x", login: "true" }).status]).toEqual([200, 403]);
  expect(names(`/app/projects/${project}/branches/${preview}/roles`).roles).toEqual(["neondb_owner"]);
});

it("the lists of roles and databases have pages of their own, filters and orders", () => {
  shop.core.change(({ store }, createdAt) => {
    const role = { branchId: main, passwordSource: "x", createdAt, updatedAt: createdAt };
    for (let made = 1; made <= 60; made += 1) store.catalogs.putRole({ ...role, name: `r${made}`, login: made > 2 });
  });
  const seen = textOf(ana.get(page));
  expect([seen.includes("Page 1 of 2, 61 roles"), seen.includes("1 database")]).toEqual([true, true]);
  expect(names(`${page}?page=2`).roles).toHaveLength(11);
  expect(names(`${page}?page=2`).databases).toEqual(["neondb"]);
  expect(names(`${page}?state=none`).roles).toEqual(["r1", "r2"]);
  expect(names(`${page}?state=login&sort=newest`).roles[0]).toBe("r60");
  expect(names(`${page}?sort=name&search=R1`).roles.slice(0, 3)).toEqual(["r1", "r10", "r11"]);
  expect(names(`${page}?search=neondb_owner`)).toEqual({ databases: ["neondb"], roles: ["neondb_owner"] });
});

it("databases are turned over by their own page number, and roles stay on theirs", () => {
  shop.core.change(({ catalog }, at) => {
    for (let made = 1; made <= 55; made += 1) {
      catalog.createRole(main, { name: `r${made}`, login: false }, at);
      catalog.createDatabase(main, { name: `d${made}`, ownerName: `r${made}` }, at);
    }
  });
  const counts = (query: string) => {
    const { databases, roles } = names(`${page}${query}`);
    return [databases.length, databases[0], roles.length, roles[0]];
  };
  expect(counts("")).toEqual([50, "neondb", 50, "neondb_owner"]);
  expect(counts("?page-databases=2")).toEqual([6, "d50", 50, "neondb_owner"]);
  expect(counts("?page=2")).toEqual([50, "neondb", 6, "r50"]);
});

it("a refused name stays in the form that it was written in, and does not appear in the other one", () => {
  const nameIn = ({ html }: { html: string }) =>
    /aria-label="New role">.*?name="name"[^>]*value="([^"]*)"/s.exec(html)?.[1];
  const role = ana.post(page, { name: "pg_app", login: "true" });
  expect([role.status, nameIn(role)]).toEqual([400, "pg_app"]);
  const database = ana.post(`${branch}/databases`, { name: "postgres", owner: "neondb_owner" });
  expect([database.status, nameIn(database)]).toEqual([400, ""]);
});

it("a page reads the roles and databases that it shows, however many a branch has", () => {
  const numbers = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1200)";
  shop.database.run(`${numbers} INSERT INTO roles SELECT ?1, n + 1, 'more-' || n, n % 2, '', 0, 0 FROM n`, main);
  const columns = "(branch_id, name, owner_name, created_at, updated_at)";
  shop.database.run(
    `${numbers} INSERT INTO databases ${columns} SELECT ?1, 'db-' || n, 'more-' || n, 0, 0 FROM n`,
    main,
  );
  const all = vi.spyOn(shop.database, "all");
  const compute = `${branch}/computes/${primary}`;
  const seen = ["", "?search=more-1199", "?sort=newest&state=none"].map((query) => names(`${page}${query}`));
  const chosen = ana.get(`${compute}?database=db-1200&role=more-1199`).html;
  expect(Math.max(...all.mock.results.map(({ value }) => Object(value).length))).toBe(400);
  expect(seen.map(({ databases, roles }) => [databases[0], databases.length, roles[0], roles.length])).toEqual([
    ["neondb", 50, "neondb_owner", 50],
    ["db-1199", 1, "more-1199", 1],
    ["db-1200", 50, "more-1200", 50],
  ]);
  expect(chosen).toContain('<option value="db-1200" selected>db-1200</option>');
  expect(chosen).toContain('<option value="more-1199" selected>more-1199</option>');
  expect(chosen.match(/<option/g)?.length).toBeLessThan(1700);
});
