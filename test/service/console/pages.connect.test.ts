import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { quotable, snippets } from "../../../src/service/console/snippets.ts";
import { main, primary, project, Shop } from "../support/shop.ts";
import { textOf, Visitor } from "./visitor.ts";

const Id = z.looseObject({ id: z.string() });
const Unstored = z.looseObject({ project: Id, branch: Id, endpoints: z.array(Id) });

const page = `/app/projects/${project}/branches/${main}/computes/${primary}`;
const base = `/projects/${project}/branches/${main}`;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

/** The connection string and the snippet on the page. */
function shownAt(query = ""): { uri: string; code: string; html: string } {
  const { html } = ana.get(`${page}${query}`);
  const plain = (text = "") => textOf({ status: 200, headers: {}, html: text });
  return {
    uri: plain(/readonly value="([^"]+)"/.exec(html)?.[1]),
    code: plain(/<pre id="snippet">(.*?)<\/pre>/s.exec(html)?.[1]),
    html,
  };
}

function passwordOf(name: string): string {
  const { catalog } = shop.core.context;
  const role = catalog.role(main, name);
  return role ? catalog.passwordOf(role) : "";
}

describe("the page of a compute", () => {
  it("shows what connects to it, for the database and role chosen, pooled or not", () => {
    expect(shownAt("?password=shown").uri).toBe(
      `postgresql://neondb_owner:${passwordOf("neondb_owner")}@${primary}.us-east-2.aws.neon.tech/neondb?sslmode=require`,
    );
    shop.ana(`POST ${base}/roles`, { role: { name: "app" } });
    shop.finishOperations();
    shop.ana(`POST ${base}/databases`, { database: { name: "stock", owner_name: "app" } });
    shop.finishOperations();
    expect(shownAt("?database=stock&role=app&pooled=true&password=shown").uri).toBe(
      `postgresql://app:${passwordOf("app")}@${primary}-pooler.us-east-2.aws.neon.tech/stock?sslmode=require`,
    );
    expect(shownAt("?database=stock").uri).toMatch(/^postgresql:\/\/app:/);
    expect(shownAt("?database=nothing&role=nobody").uri).toBe(shownAt().uri);
  });

  it("does not contain the password before it was asked for, and names where the copy button finds it", () => {
    for (const query of ["", "?for=jdbc", "?password=", "?password=hidden"]) {
      const { uri, html } = shownAt(query);
      expect(html).not.toContain(passwordOf("neondb_owner"));
      expect(uri).toContain("neondb_owner:********@");
      for (const copied of ["uri", "snippet"]) {
        const from = new RegExp(`data-copy="${copied}" data-from="([^"]+)"`).exec(html)?.[1]?.replaceAll("&amp;", "&");
        expect(ana.get(from ?? "").html).toContain(passwordOf("neondb_owner"));
      }
    }
    const { html } = shownAt("?password=shown");
    expect([html.includes("data-from"), html.includes("Hide the password")]).toEqual([false, true]);
  });

  it("offers code for each client, with the same choices, and marks the one that is shown", () => {
    for (const { name, title } of snippets) {
      const { html, uri, code } = shownAt(`?for=${name}&pooled=true`);
      expect(html).toContain(`aria-current="true">${title}</a>`);
      expect(html).toMatch(/name="pooled" value="true" checked/);
      expect(code).toContain(name === "jdbc" ? `${primary}-pooler.` : uri);
    }
    expect(shownAt("?for=nothing").code).toMatch(/^psql 'postgresql:/);
  });

  it("says so where there is nothing to connect with, and shows a role without a password as it is", () => {
    shop.ana(`POST ${base}/roles`, { role: { name: "group", no_login: true } });
    shop.finishOperations();
    const { uri, html } = shownAt("?role=group");
    expect([uri, html.includes("the password")]).toEqual([expect.stringMatching(/^postgresql:\/\/group@/), false]);
  });

  it("a project that does not store passwords shows one where it is made or reset, once, and on no page of a compute", () => {
    const made = shop.ana("POST /projects", { project: { store_passwords: false } }).body;
    const {
      project: { id },
      branch,
      endpoints,
    } = Unstored.parse(made);
    shop.finishOperations();
    const [at, role] = [`/app/projects/${id}/branches/${branch.id}`, { name: "neondb_owner" }];
    const password = () => {
      const { catalog } = shop.core.context;
      return catalog
        .roles(branch.id)
        .map((one) => catalog.passwordOf(one))
        .join();
    };
    const pages = [`/computes/${endpoints[0]?.id}?password=shown`, "/roles", `/computes/${endpoints[0]?.id}?for=jdbc`];
    const shown = () => pages.map((path) => ana.get(`${at}${path}`).html).filter((html) => html.includes(password()));
    expect([ana.get(`${at}${pages[0]}`).html.includes("postgresql://neondb_owner@"), shown()]).toEqual([true, []]);
    expect(textOf(ana.post(`${at}/roles/reset`, role))).toContain(`shown this once: ${password()}`);
    shop.finishOperations();
    expect(shown()).toEqual([]);
    expect(textOf(ana.post(`${at}/roles`, { name: "app", login: "true" }))).toContain(
      "created. Its password, shown this",
    );
    shop.finishOperations();
    expect(textOf(ana.post(`${at}/roles`, { name: "group" }))).not.toContain("Its password");
  });

  it("the page has buttons that copy its id, its host, the string and the code, each with a name of its own", () => {
    const { html } = shownAt();
    const buttons = [...html.matchAll(/data-copy="(\w+)"[^>]*>Copy<span\s+class="unseen"> ([^<]+)</g)];
    expect(buttons.map(([, id, what]) => [id, what])).toEqual([
      ["id", "compute id"],
      ["host", "host"],
      ["uri", "connection string"],
      ["snippet", "code for psql"],
    ]);
    for (const [, id] of buttons) expect(html.split(`id="${id}"`)).toHaveLength(2);
  });
});

describe("the code for a client", () => {
  const uri = "postgresql://app:pass@ep-x.example/stock?sslmode=require";
  const codeOf = (name: string) => snippets.find((one) => one.name === name)?.code(uri);

  it("the code for JDBC has user and password as parameters", () => {
    expect(codeOf("jdbc")).toContain('"jdbc:postgresql://ep-x.example/stock?sslmode=require&user=app&password=pass"');
  });

  it("the code for Prisma has the URL where its seventh version looks for it, and not in the schema", () => {
    const [env = "", config = "", schema = ""] = codeOf("prisma")?.split("\n\n//") ?? [];
    expect(env).toMatch(/^# \.env\nDATABASE_URL="postgresql:[^"]+"$/);
    expect(config).toContain('datasource: { url: env("DATABASE_URL") }');
    expect(schema).not.toContain("url");
  });

  it("no name of a role or database ends the quotes of a shell or a language", () => {
    const attack = "postgresql://a';rm -rf ~;'@h/d?x=\"+alert(1)+\"&y=`$(id)`\\";
    expect(quotable(attack)).not.toMatch(/['"`$\\()!*~]/);
    expect(decodeURIComponent(quotable(attack))).toBe(attack);
    const name = `o'"\`$(id)`;
    shop.ana(`POST ${base}/databases`, { database: { name, owner_name: "neondb_owner" } });
    shop.finishOperations();
    const database = shop.core.context.catalog.databases(main).find((one) => one.name === name);
    const { code } = shownAt(`?${new URLSearchParams({ database: name, for: "psql" }).toString()}`);
    expect([database?.name, code.split("'").length]).toEqual([name, 3]);
  });
});

it("the secret of a new key has a button that copies it, and is shown once", () => {
  const seen = ana.post("/app/keys", { name: "desk" });
  const secret = /id="secret" readonly value="([^"]+)"/.exec(seen.html)?.[1] ?? "";
  expect(seen.html).toContain('data-copy="secret"');
  expect([secret.length > 20, ana.get("/app/keys").html.includes(secret)]).toEqual([true, false]);
});
