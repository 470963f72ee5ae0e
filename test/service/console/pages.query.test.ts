import { beforeEach, expect, it, vi } from "vitest";
import type { Query, QueryAnswer } from "../../../src/service/domain/queries.ts";
import { refusals } from "../../../src/service/refusal.ts";
import { main, preview, primary, project, Shop } from "../support/shop.ts";
import { problemIn, type Seen, textOf, Visitor } from "./visitor.ts";

const page = `/app/projects/${project}/branches/${main}/query`;
const form = { compute: primary, database: "neondb", role: "neondb_owner", sql: "SELECT 1" };

let shop: Shop;
let ana: Visitor;
let asked: Query[];
let answer: () => Promise<QueryAnswer>;
beforeEach(() => {
  shop = new Shop();
  asked = [];
  answer = () => Promise.resolve({ columns: ["one"], rows: [["1"]], more: false, tag: "SELECT 1" });
  shop.core.context.queries = {
    run(query) {
      asked.push(query);
      return answer();
    },
  };
  ana = new Visitor(shop.core).signIn("acc-ana");
});

/** Sends the form and waits for its page. */
async function ask(fields: Readonly<Record<string, string>> = {}, visitor = ana): Promise<Seen> {
  visitor.get(page);
  const seen = visitor.postOnly(page, { ...form, ...fields });
  const reply = await seen.later;
  return reply ? { status: reply.status, headers: reply.headers, html: reply.body ?? "" } : seen;
}

it("the page of a statement follows no changes, which would take the statement and its rows away", () => {
  expect(ana.get(page).html).toContain("<textarea");
  expect(ana.get(page).html).not.toContain("data-changes");
});

it("a statement runs as the chosen role with its own password, and only reads unless changes are allowed", async () => {
  const { catalog } = shop.core.context;
  const role = catalog.role(main, "neondb_owner");
  const seen = await ask();
  expect(asked).toEqual([
    {
      accountId: "acc-ana",
      endpointId: primary,
      database: "neondb",
      role: { name: "neondb_owner", password: role && catalog.passwordOf(role) },
      sql: "SELECT 1",
      writes: false,
      gone: undefined,
    },
  ]);
  expect([seen.status, textOf(seen)]).toEqual([200, expect.stringContaining("Answer 1 row Rows one 1")]);
  await ask({ writes: "false" });
  expect(asked.pop()?.writes).toBe(false);
  const again = await ask({ writes: "true" });
  expect([asked[1]?.writes, /name="writes" value="true"[^>]*checked/.test(again.html)]).toEqual([true, false]);
  expect(again.html).toContain(">SELECT 1</textarea>");
});

it("a statement has the line breaks that the person sees, and not those in which browsers send them", async () => {
  await ask({ sql: "INSERT INTO notes\r\nVALUES ('one\r\n\r\ntwo')\r\n" });
  expect(asked[0]?.sql).toBe("INSERT INTO notes\nVALUES ('one\n\ntwo')");
});

it("the form has the role of the database's owner at first, and then the compute, database and role that were asked", async () => {
  const branch = `/projects/${project}/branches/${main}`;
  const replica = shop.create({ branch_id: main, type: "read_only" }).endpoint.id;
  shop.finishOperations();
  for (const name of ["aaa", "reader"]) {
    shop.ana(`POST ${branch}/roles`, { role: { name } });
    shop.finishOperations();
  }
  shop.ana(`POST ${branch}/databases`, { database: { name: "other", owner_name: "aaa" } });
  shop.finishOperations();
  const chosen = ({ html }: Pick<Seen, "html">) =>
    [...html.matchAll(/<option value="([^"]*)" selected>/g)].map(([, value]) => value);
  expect(chosen(ana.get(page))).toEqual(["neondb_owner"]);
  const asking = { compute: replica, database: "other", role: "reader" };
  expect(chosen(await ask(asking))).toEqual(Object.values(asking));
});

it("the answer of a statement is text, with its nulls, and says where there are more rows", async () => {
  const attack = "<script>alert(1)</script>";
  answer = () => Promise.resolve({ columns: [attack], rows: [[attack], [null]], more: true, tag: "" });
  const seen = await ask({ sql: `SELECT '</textarea>${attack}'` });
  expect(seen.html).not.toContain(attack);
  expect(textOf(seen)).toContain(`The first 2 rows: there are more Rows ${attack} ${attack} null`);
  answer = () => Promise.resolve({ columns: [], rows: [], more: false, tag: "INSERT 0 3" });
  expect(textOf(await ask())).toContain("Answer INSERT 0 3");
  expect(seen.headers["content-security-policy"]).toContain("default-src 'none'");
});

it("a statement that the server refuses is shown with its reason, beside what the person wrote", async () => {
  answer = () => Promise.reject(refusals.unprocessable('relation "x" does not exist'));
  const seen = await ask({ sql: "TABLE x" });
  expect([seen.status, problemIn(seen)]).toEqual([422, expect.stringContaining('Relation "x" does not exist')]);
  expect(seen.html).toContain(">TABLE x</textarea>");
});

it("a mistake of our own while a statement runs is shown without its cause, and logged", async () => {
  answer = () => Promise.reject(new Error("the inner workings"));
  const seen = await ask();
  expect([seen.status, seen.html.includes("inner workings"), shop.errors.length]).toEqual([500, false, 1]);
});

it("a statement is ended when the person leaves who waits for its page", async () => {
  ana.get(page);
  const body = new URLSearchParams({ token: ana.token, ...form }).toString();
  const type = "application/x-www-form-urlencoded";
  const headers = { host: "localhost", cookie: ana.cookie ?? "", "content-type": type };
  const left = new AbortController();
  const call = { method: "POST", path: page, body, headers, remote: "127.0.0.1", gone: left.signal };
  await shop.core.call(call).later;
  expect(asked.map(({ gone }) => gone)).toEqual([left.signal]);
});

it("a role that cannot log in is not offered, and runs no statement", async () => {
  shop.ana(`POST /projects/${project}/branches/${main}/roles`, { role: { name: "group", no_login: true } });
  shop.finishOperations();
  expect(ana.get(page).html).not.toContain('value="group"');
  const seen = await ask({ role: "group" });
  expect([seen.status, problemIn(seen), asked]).toEqual([422, expect.stringContaining("cannot log in"), []]);
});

it.each([
  ["without a statement", { sql: " " }, 400],
  ["on a compute of another branch", { compute: "ep-none" }, 404],
  ["as no role", { role: "nobody" }, 404],
  ["with a NUL character", { sql: "SELECT 1\0" }, 400],
  ["in no database", { database: "nothing" }, 404],
])("a statement %s is refused, and nothing runs", async (_, fields, status) => {
  const seen = await ask(fields);
  expect([seen.status, problemIn(seen) === "", asked]).toEqual([status, false, []]);
});

it("a statement of a compute that is on another branch of the project is refused", async () => {
  const other = shop.create({ branch_id: preview, type: "read_write" }).endpoint.id;
  expect([(await ask({ compute: other })).status, asked]).toEqual([404, []]);
});

it("neither another account nor a viewer runs a statement, nor a form without the page's token", async () => {
  const eve = new Visitor(shop.core).signIn("acc-eve");
  expect((await ask({}, eve)).status).toBe(404);
  expect((await ask({ token: "forged" })).status).toBe(403);
  shop.core.change(({ store }, joinedAt) =>
    store.accounts.putMember({ organizationId: "org-shop", accountId: "acc-bob", role: "viewer", joinedAt }),
  );
  const bob = new Visitor(shop.core).signIn("acc-bob");
  expect([bob.get(page).status, (await ask({}, bob)).status, asked]).toEqual([200, 403, []]);
});

it("the query box reads the computes that it offers, however many a branch has", () => {
  const endpoints = Array.from({ length: 1200 }, () => ({ branchID: "br-large", type: "read_only" as const }));
  const branches = [{ id: "br-large", name: "main" }];
  shop.applySeed({ projects: [{ id: "large", owner: "org-shop", branches, endpoints }] });
  const all = vi.spyOn(shop.database, "all");
  const { html } = ana.get("/app/projects/large/branches/br-large/query");
  expect(Math.max(...all.mock.results.map(({ value }) => Object(value).length))).toBe(400);
  expect(html.match(/<option value="ep-/g)).toHaveLength(400);
});

it("the query box says so where computes are a model or the branch has none, and takes no statement", async () => {
  const empty = `/app/projects/${project}/branches/${preview}/query`;
  expect(textOf(ana.get(empty))).toContain("This branch has no compute to ask: make one");
  expect(ana.get(`/app/projects/${project}/branches/${main}`).html).toContain(`href="${page}"`);
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
  expect(textOf(ana.get(page))).toContain("Start it with --postgres");
  expect(ana.get(`/app/projects/${project}/branches/${main}`).html).not.toContain(`href="${page}"`);
  expect((await ask()).status).toBe(422);
});
