import { beforeEach, describe, expect, it } from "vitest";
import { consoleRoutes } from "../../../src/service/console/routes.ts";
import { keys, main, primary, project, Shop } from "../support/shop.ts";
import { type Seen, Visitor } from "./visitor.ts";

const attack = `"'><i>&lt;`;
const roles = `/projects/${project}/branches/${main}/roles`;

let shop: Shop;
let ana: Visitor;
beforeEach(() => {
  shop = new Shop();
  ana = new Visitor(shop.core).signIn("acc-ana");
});

const values: Readonly<Record<string, string>> = {
  project_id: project,
  branch_id: main,
  endpoint_id: primary,
  org_id: "org-shop",
  key_id: "1",
};
const pathOf = (path: string) => path.replaceAll(/\{([a-z_]+)\}/g, (_, name: string) => values[name] ?? "none");
const pathsOf = (method: string) =>
  consoleRoutes()
    .filter((route) => route.method === method)
    .map(({ path }) => pathOf(path));

/** Everything stored that a form could change. */
function stored(): string {
  const tables = ["projects", "branches", "endpoints", "operations", "roles", "databases", "members"];
  const rows = tables.map((table) => shop.database.all(`SELECT * FROM ${table}`));
  return JSON.stringify([rows, shop.database.all("SELECT id, name, revoked_at FROM api_keys")]);
}

/** Forms that change something where they are accepted, or are at least no plain text. */
const filled = {
  name: "new",
  compute: primary,
  shown: "1/1/0",
  min: "1",
  max: "2",
  suspend: "0",
  type: "read_only",
  size: "1",
  seconds: "3600",
  to: "br-preview-1",
  owner: "neondb_owner",
  parent: main,
};

describe("every form of the console", () => {
  const refused = (path: string, send: (path: string) => Seen, status: number) => {
    const before = stored();
    expect([path, send(path).status]).toEqual([path, status]);
    expect([path, stored() === before]).toEqual([path, true]);
  };

  it("a form without its token, with that of another session, or from another site, is refused and changes nothing", () => {
    const other = new Visitor(shop.core).signIn("acc-ana").token;
    for (const path of ["/app/sign-out", ...pathsOf("POST")]) {
      refused(path, (at) => ana.postOnly(at, { ...filled, token: "" }), 403);
      refused(path, (at) => ana.postOnly(at, { ...filled, token: other }), 403);
      refused(path, (at) => ana.postOnly(at, filled, { "sec-fetch-site": "cross-site" }), 403);
      refused(path, (at) => ana.postOnly(at, filled, { origin: "http://localhost:1" }), 403);
    }
    expect(ana.get("/app/keys").status).toBe(200);
  });

  it("a form, and a page, is refused once its session has ended: signed out, or by a key that was revoked", () => {
    const byKey = new Visitor(shop.core);
    byKey.get("/");
    byKey.post("/app/sign-in", { key: keys.ana });
    const [key] = shop.core.context.store.keys.ofAccount("acc-ana");
    shop.ana(`DELETE /api_keys/${key?.id}`);
    const { cookie } = ana;
    ana.postOnly("/app/sign-out");
    ana.cookie = cookie;
    for (const visitor of [ana, byKey]) {
      for (const path of pathsOf("POST")) refused(path, (at) => visitor.postOnly(at, filled), 401);
      for (const path of pathsOf("GET").filter((one) => one !== "/")) refused(path, (at) => visitor.get(at), 401);
      expect(visitor.get("/").html).not.toContain("Sign out");
    }
  });

  it("a form's path that is only visited changes nothing", () => {
    for (const path of ["/app/sign-out", ...pathsOf("POST")]) {
      const before = stored();
      ana.get(`${path}?${new URLSearchParams({ ...filled, token: ana.token }).toString()}`);
      expect([path, stored() === before]).toEqual([path, true]);
    }
    expect(ana.get("/app/keys").status).toBe(200);
  });
});

it("no page shows, and no form changes, what is of another project than the one in its path", () => {
  const { endpoints, keys: held } = shop.core.context.store;
  const others: Readonly<Record<string, readonly (string | number | undefined)[]>> = {
    project_id: ["eve-own"],
    branch_id: ["br-eve", "br-two"],
    endpoint_id: ["eve-own", "shop-two"].map((id) => endpoints.list(id)[0]?.id),
    org_id: ["org-other"],
    key_id: [...held.ofAccount("acc-eve"), ...held.ofOrganization("org-other")].map(({ id }) => id),
  };
  const stays = [...Object.values(others).flat(), "shop-two"].map(String);
  const ofOthers = () =>
    stored()
      .split("},{")
      .filter((row) => stays.some((id) => row.includes(`"${id}"`)));
  const before = ofOthers();
  const pages: number[] = [];
  for (const { method, path } of consoleRoutes()) {
    for (const [, name = ""] of path.matchAll(/\{([a-z_]+)\}/g)) {
      for (const other of others[name] ?? []) {
        const at = pathOf(path.replace(`{${name}}`, String(other)));
        if (method === "GET") pages.push(ana.get(at).status);
        else ana.postOnly(at, filled);
        expect([at, ofOthers()]).toEqual([at, before]);
      }
    }
  }
  // A compute that is known is shown at its own place.
  expect([pages.length, new Set(pages)]).toEqual([16, new Set([404, 303])]);
});

it("every name that anybody can choose stands as text on every page", () => {
  const note = (value: string) => ({
    "compute-operator.dev/object": value,
    "compute-operator.dev/uid": value,
    "compute-operator.dev/fleet": value,
  });
  shop.ana(`PATCH /projects/${project}`, { project: { name: attack } });
  shop.ana(`PATCH /projects/${project}/branches/${main}`, { branch: { name: attack } });
  shop.ana(`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { name: attack } });
  shop.ana(`POST ${roles}`, { role: { name: attack } });
  shop.finishOperations();
  shop.ana(`POST ${roles.replace("roles", "databases")}`, { database: { name: attack, owner_name: attack } });
  shop.finishOperations();
  shop.ana("POST /api_keys", { key_name: attack });
  shop.ana("POST /organizations/org-shop/api_keys", { key_name: attack, project_id: project });
  const branch = { name: `${attack}2`, expires_at: "2026-01-02T00:00:00Z" };
  shop.ana(`POST /projects/${project}/branches`, { branch, annotation_value: note(attack) });
  shop.core.change(({ store }) => {
    for (const { id } of store.operations.page(project, { beforeSeq: undefined, limit: 1 }))
      store.operations.forceFailure(id, attack);
  });
  shop.finishOperations();
  const [noted] = shop.core.context.store.branches.list(project).filter(({ name }) => name === branch.name);
  const query = new URLSearchParams({
    search: attack,
    database: attack,
    role: attack,
    state: attack,
    sort: attack,
    for: attack,
    page: attack,
  });
  const paths = [...pathsOf("GET"), ...pathsOf("GET").map((path) => `${path}?${query.toString()}`)];
  const seen = [...paths, ...paths.map((path) => path.replaceAll(main, noted?.id ?? ""))].map((path) => ana.get(path));
  const forms = ["name", "owner", "project", "compute", "to", "parent", "shown"].map((field) => ({
    ...filled,
    [field]: attack,
  }));
  seen.push(...pathsOf("POST").flatMap((path) => forms.map((form) => ana.post(path, form))));
  for (const { html, status } of seen) {
    expect(status).toBeLessThan(500);
    expect(html).not.toContain("<i>");
    expect(html.split("<script").length).toBe(html === "" ? 1 : 2);
  }
  expect(seen.filter(({ html }) => html.includes("&quot;&#39;&gt;&lt;i&gt;")).length).toBeGreaterThan(20);
});
