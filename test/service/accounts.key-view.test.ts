import { expect, it } from "vitest";
import { keys, project, Shop } from "./support/shop.ts";

const path = "/organizations/org-shop/api_keys";
const start = "2026-01-01T00:00:00.000Z";

it("a key shows who made it, its project and its use: in a list, when it is made, and when it is revoked", () => {
  const shop = new Shop();
  const made = shop.send(keys.bob, `POST ${path}`, { key_name: "one", project_id: project }).body;
  const bob = shop.core.context.store.accounts.get("acc-bob")?.uuid;
  const common = { id: made["id"], name: "one", created_at: start, project_id: project };
  expect(made).toEqual({ ...common, key: expect.any(String), created_by: bob });
  const listed = () => Object.values(shop.send(keys.ana, `GET ${path}`).body).at(-1);
  const record = { ...common, created_by: { id: bob, name: "bob@example.com", image: "" } };
  expect(listed()).toEqual({ ...record, last_used_from_addr: "" });
  shop.time.pass(60_000);
  const headers = { authorization: `Bearer ${String(made["key"])}` };
  shop.core.call({ method: "GET", path: "/api/v2/auth", headers, remote: "192.0.2.7" });
  const use = { last_used_at: "2026-01-01T00:01:00.000Z", last_used_from_addr: "192.0.2.7" };
  expect(listed()).toEqual({ ...record, ...use });
  expect(shop.send(keys.ana, `DELETE ${path}/${String(made["id"])}`).body).toEqual({
    ...common,
    created_by: bob,
    ...use,
    revoked: true,
  });
});

it("a list shows of each key who made it, also where others made some of the same name", () => {
  const shop = new Shop();
  for (const key of [keys.bob, keys.ana]) shop.send(key, `POST ${path}`, { key_name: "one", project_id: project });
  const listed = Object.values(shop.send(keys.ana, `GET ${path}`).body).slice(-2);
  expect(listed).toMatchObject([
    { created_by: { name: "bob@example.com" } },
    { created_by: { name: "ana@example.com" } },
  ]);
});
