import { beforeEach, describe, expect, it } from "vitest";
import { rules } from "../../../src/service/rules.ts";
import type { KeyScope } from "../../../src/service/store/keys.ts";
import { keys, project, Shop } from "../support/shop.ts";
import { problemIn, rowsIn, type Seen, textOf, Visitor } from "./visitor.ts";

let shop: Shop;
let ana: Visitor;
let bob: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
  bob = new Visitor(shop.core).signIn("acc-bob");
});

/** The secret that a page shows; `undefined` where it shows none. */
function secretIn({ html }: Seen): string | undefined {
  return /<input id="secret"[^>]* value="([^"]+)"/.exec(html)?.[1];
}

/** The page's path to revoke the key with this name. */
function revokeIn({ html }: Seen, name: string): string {
  return new RegExp(`Revoke ${name}".*?action="([^"]+)"`, "s").exec(html)?.[1] ?? "";
}

const answers = (key: string, line: string) => shop.send(key, line).status;

it("a personal key shows its secret once, and works at once", () => {
  const seen = ana.post("/app/keys", { name: "desk" });
  const secret = secretIn(seen) ?? "";
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect(seen.headers["cache-control"]).toBe("no-store");
  expect(answers(secret, "GET /auth")).toBe(200);
  expect(ana.get("/app/keys").html).not.toContain(secret);
  expect(new Visitor(shop.core).signIn("acc-ana").get("/app/keys").html).not.toContain(secret);
});

it("a personal key keeps its secret for the page where somebody asks for the headers alone", () => {
  ana.postOnly("/app/keys", { name: "desk" });
  expect(ana.head("/app/keys").status).toBe(200);
  expect(secretIn(ana.get("/app/keys"))).toMatch(/^[0-9a-f]{64}$/);
  expect(secretIn(ana.get("/app/keys"))).toBeUndefined();
});

it("the secret that the page shows is that of the key made last", () => {
  for (const name of ["first", "second"]) ana.postOnly("/app/keys", { name });
  const seen = ana.get("/app/keys");
  expect(seen.html).toContain("The secret of <b>second</b>");
  expect(answers(secretIn(seen) ?? "", "GET /auth")).toBe(200);
});

it.each([
  ["a page of another port", { "sec-fetch-site": "same-site" }],
  ["a page of another site", { "sec-fetch-site": "cross-site", "sec-fetch-dest": "document" }],
  ["a browser that looks ahead", { "sec-fetch-site": "same-origin", "sec-purpose": "prefetch" }],
  ["the script of a page", { "x-console-refresh": "1" }],
])("a personal key keeps its secret for the person where %s asks for its page", (_, headers) => {
  ana.postOnly("/app/keys", { name: "desk" });
  ana.get("/app/keys", headers);
  expect(secretIn(ana.get("/app/keys"))).toMatch(/^[0-9a-f]{64}$/);
});

it("a personal key makes further keys through the API", () => {
  shop.applySeed({ accounts: [{ id: "acc-new", email: "new@example.com" }] });
  const first = secretIn(new Visitor(shop.core).signIn("acc-new").post("/app/keys", { name: "first" })) ?? "";
  expect(shop.send(first, "POST /api_keys", { key_name: "second" }).status).toBe(200);
});

it("a personal key is listed with its maker and its last use", () => {
  shop.ana("GET /auth");
  ana.post("/app/keys", { name: "desk" });
  const rows = rowsIn(ana.get("/app/keys")).map((row) => row.slice(0, 5));
  const created = "2026-01-01 00:00 UTC just now";
  expect(rows).toEqual([
    ["laptop", "You", "You", created, `${created} from 127.0.0.1`],
    ["desk", "You", "You", created, "never"],
  ]);
});

it("a personal key stops working when it is revoked, for good", () => {
  const secret = secretIn(ana.post("/app/keys", { name: "desk" })) ?? "";
  const seen = ana.post(revokeIn(ana.get("/app/keys"), "desk"));
  expect(textOf(seen)).toContain("The key is revoked: requests with it fail from now on.");
  expect(rowsIn(seen).map(([name]) => name)).toEqual(["laptop"]);
  expect(answers(secret, "GET /auth")).toBe(401);
});

/** Adds keys with the names `n1`, `n2`, …. */
function addKeys(count: number, scope: KeyScope): void {
  shop.core.change(({ store }, at) => {
    for (let made = 1; made <= count; made += 1)
      store.keys.insert(`key-${made}`, { name: `n${made}`, scope, createdBy: "acc-ana", createdAt: at });
  });
}

/** The names of keys in a section of the page, and the words below its table. */
function sectionOf(seen: Seen, id: string): { names: (string | undefined)[]; pages: string | undefined } {
  const html = new RegExp(`<section aria-labelledby="${id}">.*?</section>`, "s").exec(seen.html)?.[0] ?? "";
  const names = [...html.matchAll(/<th scope="row">(.*?)<\/th>/g)].map(([, name]) => name);
  const pages = /(?:Page \d+ of \d+, )?\d+ keys?\b/.exec(textOf({ ...seen, html }))?.[0];
  return { names, pages };
}

it("the keys of an account are shown by fifty with their number, and those of its organization on pages of their own", () => {
  addKeys(119, { kind: "personal", accountId: "acc-ana" });
  const pages = [1, 2, 3, 4].map((page) => ana.get(`/app/keys?page=${page}`));
  const personal = pages.map((seen) => sectionOf(seen, "personal"));
  expect(personal.map(({ names }) => names.length)).toEqual([50, 50, 20, 20]);
  expect(new Set(personal.flatMap(({ names }) => names)).size).toBe(120);
  expect(personal.map((one) => one.pages)).toEqual([1, 2, 3, 3].map((page) => `Page ${page} of 3, 120 keys`));
  for (const seen of pages) {
    expect(sectionOf(seen, "org-shop")).toEqual({ names: ["ci", "one-project"], pages: "2 keys" });
  }
});

it("the keys of an organization have links to their own further pages", () => {
  addKeys(60, { kind: "organization", organizationId: "org-shop" });
  const first = ana.get("/app/keys");
  expect(sectionOf(first, "org-shop").pages).toBe("Page 1 of 2, 62 keys");
  const next = /<a rel="next" href="([^"]+)"/.exec(first.html)?.[1]?.replaceAll("&amp;", "&");
  expect(next).toBe("/app/keys?page-org-shop=2");
  const second = ana.get(next ?? "");
  expect([sectionOf(second, "org-shop").names.length, sectionOf(second, "personal").names]).toEqual([12, ["laptop"]]);
  expect(second.html).toContain('aria-label="Pages of the keys of Shop"');
});

it("the keys are found by a part of their name and by use, and sorted", () => {
  addKeys(3, { kind: "personal", accountId: "acc-ana" });
  ana.post("/app/keys", { name: "Alpha 100%" });
  shop.ana("GET /auth");
  shop.time.pass(120_000);
  shop.send("key-2", "GET /auth");
  const names = (query: string) => sectionOf(ana.get(`/app/keys?${query}`), "personal").names;
  expect(names("search=ALPHA")).toEqual(["Alpha 100%"]);
  expect(names("search=%25")).toEqual(["Alpha 100%"]);
  expect(names("state=used")).toEqual(["laptop", "n2"]);
  expect(names("state=unused&search=n")).toEqual(["n1", "n3"]);
  expect(names("sort=newest")).toEqual(["Alpha 100%", "n3", "n2", "n1", "laptop"]);
  expect(names("sort=name")).toEqual(["Alpha 100%", "laptop", "n1", "n2", "n3"]);
  expect(names("sort=used").slice(0, 2)).toEqual(["n2", "laptop"]);
  expect(names("sort=unused").slice(-2)).toEqual(["laptop", "n2"]);
  expect(names("state=none&sort=id;DROP TABLE api_keys")).toEqual(["laptop", "n1", "n2", "n3", "Alpha 100%"]);
  expect(textOf(ana.get("/app/keys?search=nothing"))).toContain("None like this.");
  expect(sectionOf(ana.get("/app/keys?search=ci"), "org-shop")).toEqual({ names: ["ci"], pages: "1 key" });
});

it("a key without a name, or with one that is too long, is not made", () => {
  const nameless = ana.post("/app/keys", { name: "  " });
  expect([nameless.status, problemIn(nameless)]).toEqual([400, expect.stringContaining("The key needs a name")]);
  const long = ana.post("/app/keys", { name: "x".repeat(65) });
  expect([long.status, problemIn(long)]).toEqual([400, expect.stringContaining("The name")]);
  expect(rowsIn(long).map(([name]) => name)).toEqual(["laptop"]);
});

it("a personal key can be seen and revoked by its owner alone", () => {
  const [first] = shop.core.context.store.keys.ofAccount("acc-ana");
  const seen = bob.post(`/app/keys/${first?.id}/revoke`);
  expect([seen.status, problemIn(seen)]).toEqual([404, expect.stringContaining("API key not found.")]);
  expect(answers(keys.ana, "GET /auth")).toBe(200);
});

describe("the keys of an organization", () => {
  const path = "/app/organizations/org-shop/keys";

  it("an administrator makes keys for all of the organization", () => {
    const secret = secretIn(ana.post(path, { name: "deploys", project: "" })) ?? "";
    expect(answers(secret, "GET /projects/shop-two")).toBe(200);
    expect(shop.send(secret, "GET /auth").body).toMatchObject({ account_id: "org-shop", auth_method: "api_key_org" });
  });

  it("any member makes keys for one project", () => {
    const secret = secretIn(bob.post(path, { name: "one", project })) ?? "";
    expect([answers(secret, `GET /projects/${project}`), answers(secret, "GET /projects/shop-two")]).toEqual([
      200, 404,
    ]);
  });

  it("cannot be created for all of it by a member, who is offered projects alone", () => {
    expect(bob.get("/app/keys").html).not.toContain("all of it</option>");
    const seen = bob.post(path, { name: "all", project: "" });
    expect(seen.status).toBe(403);
    expect(problemIn(seen)).toContain("Only administrators of organization org-shop can create keys for all of it");
  });

  it("an administrator revokes the organization's keys", () => {
    ana.post(revokeIn(ana.get("/app/keys"), "ci"));
    ana.post(revokeIn(ana.get("/app/keys"), "one-project"));
    // Keys of a seed stay as records, and are shown no more.
    expect(["ci", "one-project"].map((name) => revokeIn(ana.get("/app/keys"), name))).toEqual(["", ""]);
    expect([answers(keys.shop, "GET /auth"), answers(keys.scoped, "GET /auth")]).toEqual([401, 401]);
  });

  it("a member is offered none where only administrators create them, and told so", () => {
    shop = new Shop({ rules: rules.neon });
    const seen = new Visitor(shop.core).signIn("acc-bob").get("/app/keys");
    expect(textOf(seen)).toContain(
      "You are an editor: to create and revoke this organization's keys is for administrators.",
    );
    expect(seen.html).not.toContain('action="/app/organizations/org-shop/keys"');
  });

  it("a member revokes no key of the organization, and is not offered it", () => {
    expect(revokeIn(bob.get("/app/keys"), "ci")).toBe("");
    const [first] = shop.core.context.store.keys.ofOrganization("org-shop");
    expect(bob.post(`${path}/${first?.id}/revoke`).status).toBe(403);
    expect(answers(keys.shop, "GET /auth")).toBe(200);
  });

  it("the organization's keys can be seen and made by its members alone", () => {
    const eve = new Visitor(shop.core).signIn("acc-eve");
    expect(eve.get("/app/keys").html).not.toContain("org-shop");
    expect(eve.post(path, { name: "theft", project: "" }).status).toBe(404);
    expect(eve.post(path, { name: "theft", project }).status).toBe(404);
    expect(eve.post("/app/organizations/org-other/keys", { name: "theft", project }).status).toBe(404);
  });
});

describe("the page of keys", () => {
  it.each([
    ["admin", "You administer this organization: you create and revoke its keys.", ["", "mal"]],
    ["member", "You are a member: you create keys for one project.", ["mal"]],
    ["editor", "You are an editor: you create keys for one project.", ["mal"]],
    ["viewer", "You are a viewer: your keys read this organization's projects and change nothing.", undefined],
    ["collaborator", "You are a collaborator: you reach the projects in which you are given a role.", undefined],
  ] as const)(
    "tells the %s of an organization the rights of the role, shows the keys that it may see and offers what it may create",
    (role, words, projects) => {
      shop.applySeed({
        accounts: [{ id: "acc-mal", email: "mal@example.com" }],
        organizations: [
          {
            id: "org-mal",
            name: "Mall",
            members: [
              { account: "acc-ana", role: "admin" },
              { account: "acc-mal", role },
            ],
            apiKeys: [{ name: "shared", key: "mal-key" }],
          },
        ],
        projects: [{ id: "mal", name: "malls", owner: "org-mal" }],
      });
      const seen = new Visitor(shop.core).signIn("acc-mal").get("/app/keys");
      const section = /<section aria-labelledby="org-mal">.*?<\/section>/s.exec(seen.html)?.[0] ?? "";
      expect(textOf({ ...seen, html: section })).toContain(words);
      expect(section.includes("Revoke for good")).toBe(role === "admin");
      expect(section.includes('<th scope="row">shared</th>')).toBe(role !== "collaborator");
      expect(section.includes('<th scope="col">Revoke</th>')).toBe(role === "admin");
      const form = /<form class="create"[^>]*>.*?<\/form>/s.exec(section)?.[0];
      const offered = [...(form ?? "").matchAll(/<option value="([^"]*)">/g)].map(([, id]) => id);
      expect(form && offered).toEqual(projects);
      if (form === undefined) return;
      expect(form).toContain('action="/app/organizations/org-mal/keys"');
      expect(form).toContain('aria-label="New key of Mall"');
      expect(form).toContain("project malls (mal)</option>");
    },
  );

  it("says that a list has no keys yet", () => {
    shop.applySeed({ accounts: [{ id: "acc-new", email: "new@example.com" }] });
    const visitor = new Visitor(shop.core).signIn("acc-new");
    expect(textOf(visitor.get("/app/keys"))).toContain("None yet.");
    expect(visitor.get("/app/keys").html).not.toContain("<table");
  });

  it("names the scope and the maker of each key of an organization, and no key of a deleted project", () => {
    bob.post("/app/organizations/org-shop/keys", { name: "two", project: "shop-two" });
    const section = () => {
      const seen = ana.get("/app/keys");
      return rowsIn({
        ...seen,
        html: /<section aria-labelledby="org-shop">.*?<\/section>/s.exec(seen.html)?.[0] ?? "",
      });
    };
    const before = section().map((row) => row.slice(0, 3));
    expect(before).toEqual([
      ["ci", "All projects", "You"],
      ["one-project", "Project shop", "You"],
      ["two", "Project shop-two", "bob@example.com"],
    ]);
    shop.ana("PATCH /projects/shop-two", { project: { name: "second" } });
    expect(section().at(-1)?.[1]).toBe("Project second");
    expect(shop.ana("DELETE /projects/shop-two").status).toBe(200);
    expect(section().map(([name]) => name)).toEqual(["ci", "one-project"]);
  });

  it("a form without a project is for all of the organization", () => {
    const secret = secretIn(ana.post("/app/organizations/org-shop/keys", { name: "all" })) ?? "";
    expect(answers(secret, "GET /projects/shop-two")).toBe(200);
  });
});

it("the page of keys shows from where a key was used last, also where that was just after a use from elsewhere", () => {
  for (const remote of ["192.0.2.7", "192.0.2.8"]) {
    shop.core.call({ method: "GET", path: "/api/v2/auth", headers: { authorization: `Bearer ${keys.ana}` }, remote });
  }
  const { html } = ana.get("/app/keys");
  expect([html.includes("from 192.0.2.8"), html.includes("192.0.2.7")]).toEqual([true, false]);
});
