import { expect, it } from "vitest";
import { z } from "zod";
import { keys, main, preview, primary, project, Shop, shopSeed } from "../support/shop.ts";

const Named = z.object({ name: z.string() });

/** The tables that hold rows. */
function filled(shop: Shop): string[] {
  const tables = shop.database.all(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
  );
  return tables
    .map((row) => Named.parse(row).name)
    .filter((name) => shop.database.one(`SELECT 1 FROM ${name} LIMIT 1`) !== undefined);
}

const password = `GET /projects/${project}/branches/${main}/roles/neondb_owner/reveal_password`;

it("a store that is cleared has nothing but the secret of its passwords, and numbers new keys from the beginning", () => {
  const shop = new Shop({ branchRecovery: true });
  shop.active();
  shop.connect(primary, 600);
  shop.create({ branch_id: preview, type: "read_write", name: "k8s-0" });
  shop.finishOperations();
  shop.time.pass(60_000);
  shop.ana(`DELETE /projects/${project}/branches/${preview}`);
  shop.ana("POST /api_keys", { key_name: "more" });
  const before = [shop.ana("GET /api_keys").body[0], shop.ana(password).body];
  const kinds = ["accounts", "api_keys", "branches", "connections", "databases", "deleted_endpoints", "endpoints"];
  expect(filled(shop)).toEqual(expect.arrayContaining([...kinds, "members", "operations", "roles", "usage_hours"]));
  shop.core.change(({ store }) => store.clear());
  expect(filled(shop)).toEqual(["meta"]);
  expect(shop.send(keys.ana, "GET /auth").status).toBe(401);
  shop.applySeed(shopSeed);
  expect([shop.ana("GET /api_keys").body[0], shop.ana(password).body]).toMatchObject([
    { id: 1, name: "laptop" },
    before[1],
  ]);
});
