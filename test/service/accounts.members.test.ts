import { beforeEach, describe, expect, it, vi } from "vitest";
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

it.each([
  ["org-none/members/acc-bob", "admin", 404, "organization org-none not found"],
  ["org-shop/members/acc-none", "admin", 404, "account acc-none not found"],
  [
    "org-shop/members/acc-ana",
    "member",
    409,
    "acc-ana is the last administrator of organization org-shop: make another member one first",
  ],
  ["org-shop/members/acc-ana", "admin", 200, undefined],
  ["org-shop/members/acc-eve", "viewer", 200, undefined],
])("a member of an organization that is put as %s with the role %s is answered %s", (path, role, status, message) => {
  const answer = shop.send(undefined, `PUT /_admin/organizations/${path}`, { role });
  expect([answer.status, answer.body["message"]]).toEqual([status, message]);
  expect(page("sort_by=email&sort_order=asc").members[0]?.member["role"]).toBe("admin");
});

it.each([
  ["acc-none", 404, "member acc-none of organization org-shop not found"],
  ["acc-eve", 404, "member acc-eve of organization org-shop not found"],
  ["acc-ana", 409, expect.stringContaining("acc-ana is the last administrator")],
  ["acc-bob", 204, undefined],
])("a member of an organization that is taken out as %s is answered %s", (account, status, message) => {
  const answer = shop.send(undefined, `DELETE /_admin${members}/${account}`);
  expect([answer.status, answer.body["message"]]).toEqual([status, message]);
});

it("a member of two organizations has an id of its own in each", () => {
  shop.send(undefined, "PUT /_admin/organizations/org-other/members/acc-bob", { role: "member" });
  const ids = ["org-shop", "org-other"].map((organization) => {
    const { members: all } = Members.parse(shop.send(keys.bob, `GET /organizations/${organization}/members`).body);
    return all.find(({ user }) => user.email === "bob@example.com")?.member.id;
  });
  expect([ids.includes(undefined), new Set(ids).size]).toEqual([false, 2]);
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

  it.each(["email", "role", "joined_at"])("show each member once, though the one before goes: %s", (by) => {
    const query = `sort_by=${by}&sort_order=asc&limit=1`;
    const put = (role: string) => shop.send(undefined, `PUT /_admin${members}/acc-eve`, { role });
    put("admin");
    shop.time.pass(1000);
    const first = page(query);
    shop.send(undefined, `DELETE /_admin${members}/acc-${first.members[0]?.user.email.split("@")[0]}`);
    const second = Members.parse(shop.send(keys.shop, `GET ${members}?${query}&cursor=${first.pagination.next}`).body);
    const third = Members.parse(shop.send(keys.shop, `GET ${members}?${query}&cursor=${second.pagination.next}`).body);
    const seen = [first, second, third].flatMap((one) => one.members.map(({ user }) => user.email));
    expect(seen.toSorted()).toEqual(["ana@example.com", "bob@example.com", "eve@example.com"]);
  });
});

it("members who joined at once, or have one role, are listed in the order of their emails", () => {
  shop.core.change(({ store: { accounts } }, at) => {
    for (const name of ["cy", "fay", "dan", "gus", "hal"]) {
      const id = `acc-${name}`;
      accounts.insert({ id, uuid: id, email: `${name}@example.com`, name, plan: "free", createdAt: at });
      accounts.putMember({ organizationId: "org-shop", accountId: id, role: "member", joinedAt: at });
    }
  });
  const emails = (query: string) => page(query).members.map(({ user }) => user.email.split("@")[0]);
  const all = ["ana", "bob", "cy", "dan", "fay", "gus", "hal"];
  expect(emails("sort_by=joined_at")).toEqual(all);
  expect(emails("sort_by=role&sort_order=desc")).toEqual([...all.slice(1), "ana"]);
});

it("the members of a project are listed in the order in which they joined", () => {
  const { accounts } = shop.core.context.store;
  shop.core.change((_, at) => {
    const member = { organizationId: "org-shop", accountId: "acc-eve", role: "member", joinedAt: at + 1000 } as const;
    accounts.putMember(member);
  });
  const { project_members } = shop.send(keys.bob, "GET /projects/shop-two/members").body;
  expect(project_members).toMatchObject(["ana", "bob", "eve"].map((name) => ({ email: `${name}@example.com` })));
});

it("a page of members reads the accounts of no others", () => {
  const { accounts } = shop.core.context.store;
  const [one, all] = [vi.spyOn(accounts, "get"), vi.spyOn(accounts, "members")];
  expect(page("limit=1&sort_by=email").members).toHaveLength(1);
  expect(shop.send(keys.bob, "GET /projects/shop-two/members?limit=1").body["project_members"]).toHaveLength(1);
  expect([one.mock.calls.length, all.mock.calls.length]).toEqual([0, 0]);
});
