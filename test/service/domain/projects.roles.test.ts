import { expect, it } from "vitest";
import { z } from "zod";
import { main, project, Shop } from "../support/shop.ts";

const ofMain = `/projects/${project}/branches/${main}`;

/** A new branch of the shop with a compute. */
function branched(shop: Shop): Record<string, unknown> {
  const { status, body } = shop.ana(`POST /projects/${project}/branches`, { endpoints: [{ type: "read_write" }] });
  expect(status).toBe(201);
  return body;
}

it("a branch whose parent has no databases is created with a compute and no connection URI", () => {
  const shop = new Shop();
  shop.ana(`DELETE ${ofMain}/databases/neondb`);
  shop.finishOperations();
  const body = branched(shop);
  expect(body).toMatchObject({ connection_uris: [], databases: [], roles: [{ name: "neondb_owner" }] });
  expect(body["endpoints"]).toHaveLength(1);
});

it("the URI of a branch whose database belongs to a role that cannot log in has no password, nor have its parameters", () => {
  const shop = new Shop();
  shop.ana(`POST ${ofMain}/roles`, { role: { name: "app", no_login: true } });
  shop.finishOperations();
  shop.ana(`PATCH ${ofMain}/databases/neondb`, { database: { owner_name: "app" } });
  shop.finishOperations();
  expect(branched(shop)["connection_uris"]).toMatchObject([
    {
      connection_uri: expect.stringMatching(/^postgresql:\/\/app@ep-/),
      connection_parameters: { database: "neondb", role: "app", password: "" },
    },
  ]);
});

it("the URI of a new branch leads to its compute, as the role and with the password that its parameters name", () => {
  const shop = new Shop();
  const { connection_uris, roles } = branched(shop);
  const [shown] = [connection_uris].flat();
  const [{ password }] = z.tuple([z.object({ password: z.string() })]).parse(roles);
  const { id = "", host = "" } = shop.list().at(-1) ?? {};
  expect(shown).toEqual({
    connection_uri: `postgresql://neondb_owner:${password}@${host}/neondb?sslmode=require`,
    connection_parameters: {
      database: "neondb",
      role: "neondb_owner",
      password,
      host,
      pooler_host: host.replace(id, `${id}-pooler`),
    },
  });
});

it("a role is shown with the branch that it belongs to, and is no protected one", () => {
  const shop = new Shop();
  const { created_at, updated_at } = shop.get("ep-shop-primary");
  expect(shop.ana(`GET ${ofMain}/roles/neondb_owner`).body["role"]).toEqual({
    branch_id: main,
    name: "neondb_owner",
    protected: false,
    authentication_method: "password",
    created_at,
    updated_at,
  });
});

it("a project of an account shows no organization and no members, even of one that has the account's id", () => {
  const shop = new Shop();
  const members = [{ account: "acc-ana", role: "admin" as const }];
  shop.applySeed({ organizations: [{ id: "acc-ana", name: "Twin", plan: "scale", members }] });
  const shown = shop.ana("GET /projects/ana-own").body["project"];
  expect(shown).toMatchObject({ owner_id: "acc-ana" });
  expect(shown).not.toHaveProperty("org_id");
  expect(shop.ana("GET /projects/ana-own/members").body["project_members"]).toEqual([]);
  expect(shop.ana(`GET /projects/${project}`).body["project"]).toMatchObject({ org_id: "org-shop", org_name: "Shop" });
});

it.each([
  [5432, ""],
  [5433, ":5433"],
])("the URI of a compute in a domain names port %i of the servers where that is not the usual one", (port, shown) => {
  const shop = new Shop({ domain: "db.example.com" });
  Object.assign(shop.core.context.backend, { address: { host: "192.0.2.1", port } });
  const query = "database_name=neondb&role_name=neondb_owner&pooled=true";
  expect(shop.ana(`GET /projects/${project}/connection_uri?${query}`).body["uri"]).toContain(
    `@ep-shop-primary-pooler.db.example.com${shown}/neondb?sslmode=require`,
  );
});

it("the URI of a compute on an address names it, its pooler or not, in a parameter, also of an address of IPv6", () => {
  const shop = new Shop();
  Object.assign(shop.core.context.backend, { address: { host: "::1", port: 5433 } });
  const uri = (pooled: boolean) => {
    const query = `database_name=neondb&role_name=neondb_owner&pooled=${pooled}`;
    return String(shop.ana(`GET /projects/${project}/connection_uri?${query}`).body["uri"]).replace(/.*@/, "");
  };
  expect([uri(false), uri(true)]).toEqual([
    "[::1]:5433/neondb?options=endpoint%3Dep-shop-primary",
    "[::1]:5433/neondb?options=endpoint%3Dep-shop-primary-pooler",
  ]);
});
