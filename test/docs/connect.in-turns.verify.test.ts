import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { main, PostgresRig, project } from "../service/postgres/rig.ts";

// The SQL of docs/connect.md for two roles that own the same tables, and what a reset of one does to a client of each.

const branch = `/projects/${project}/branches/${main}`;
let rig: PostgresRig;

beforeAll(async () => {
  rig = await PostgresRig.start();
});
afterAll(() => rig?.[Symbol.asyncDispose]());

/** The statements of the section's SQL blocks, for the database of the rig. */
function blocks(): string[][] {
  const [, section = ""] =
    /## Change the password in turns\n(.*?)\n## /s.exec(readFileSync("docs/connect.md", "utf8")) ?? [];
  const found = [...section.matchAll(/^```sql\n(.*?)^```$/gms)];
  return found.map(([, body = ""]) => body.replace("DATABASE shop ", "DATABASE stock ").trim().split("\n"));
}

const whoami = async (uri: string) => (await rig.query(uri, "SELECT session_user, current_user"))[0];

it("two roles own the same tables by the SQL of docs/connect.md, and each goes on while the other's password is reset", async () => {
  for (const name of ["app_a", "app_b"]) await rig.change("POST", `${branch}/roles`, { role: { name } });
  const [ofOwner = [], ofEach = []] = blocks();
  expect([ofOwner.length, ofEach.length]).toEqual([4, 1]);
  await rig.query(await rig.uri(), ...ofOwner);
  const [a, b] = [await rig.uri({ role: "app_a" }), await rig.uri({ role: "app_b" })];
  for (const uri of [a, b]) await rig.query(uri, ...ofEach);
  expect(await whoami(a)).toEqual({ session_user: "app_a", current_user: "shop_owner" });
  await rig.query(a, "CREATE TABLE orders (id int PRIMARY KEY)", "INSERT INTO orders VALUES (1)");
  await rig.query(b, "ALTER TABLE orders ADD note text", "INSERT INTO orders VALUES (2, 'b')");
  expect(await rig.query(a, "SELECT id FROM orders ORDER BY id")).toEqual([{ id: 1 }, { id: 2 }]);

  const { body } = await rig.call("POST", `${branch}/roles/app_b/reset_password`);
  expect(body).toMatchObject({ role: { name: "app_b" } });
  await rig.settled();
  await expect(rig.query(b, "SELECT 1")).rejects.toThrow(/password authentication failed/);
  expect(await whoami(a)).toEqual({ session_user: "app_a", current_user: "shop_owner" });
  const renewed = await rig.uri({ role: "app_b" });
  expect(renewed).not.toBe(b);
  await rig.query(renewed, "ALTER TABLE orders DROP note", "DROP TABLE orders");
});
