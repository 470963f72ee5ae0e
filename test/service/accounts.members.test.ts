import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { keys, Shop } from "./support/shop.ts";

const Members = z.object({
  members: z.array(z.object({ member: z.looseObject({ id: z.string() }), user: z.object({ email: z.string() }) })),
  pagination: z.looseObject({ next: z.string().optional() }),
});
const members = "/organizations/org-shop/members";

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

const page = (query = "") => Members.parse(shop.send(keys.bob, `GET ${members}?${query}`).body);

describe("a member of an organization", () => {
  it("gives itself no right: it becomes no administrator, takes nobody out, and makes no keys", () => {
    for (const { member } of page().members) {
      const call = `${members}/${member.id}`;
      expect(shop.send(keys.bob, `PATCH ${call}`, { role: "admin" }).status).toBe(403);
      expect(shop.send(keys.bob, `DELETE ${call}`).status).toBe(403);
    }
    expect(shop.send(keys.bob, "POST /organizations/org-shop/api_keys", { key_name: "all" }).status).toBe(403);
    expect(page("sort_by=role&sort_order=asc").members.map(({ member }) => member["role"])).toEqual([
      "admin",
      "member",
    ]);
  });
});

it("a member keeps the time at which it joined when its role changes", () => {
  const joined = () => page("sort_by=email&sort_order=asc").members.map(({ member }) => member["joined_at"]);
  const before = joined();
  shop.time.pass(86_400_000);
  shop.send(undefined, "PUT /_admin/organizations/org-shop/members/acc-bob", { role: "admin" });
  expect(joined()).toEqual(before);
});

describe("the pages of an organization's members", () => {
  it.each([
    ["asc", ["ana@example.com", "bob@example.com"]],
    ["desc", ["bob@example.com", "ana@example.com"]],
  ])("follow one order over all of them: %s", (order, emails) => {
    const first = page(`sort_by=email&sort_order=${order}&limit=1`);
    const second = page(`sort_by=email&sort_order=${order}&limit=1&cursor=${first.pagination.next}`);
    expect([...first.members, ...second.members].map(({ user }) => user.email)).toEqual(emails);
    expect(second.pagination.next).toBeUndefined();
  });
});
