import { beforeEach, expect, it } from "vitest";
import type { Store } from "../../../src/service/store/store.ts";
import { main, Shop } from "../support/shop.ts";

let store: Store;
beforeEach(() => {
  ({ store } = new Shop().core.context);
});

it("a role that is put again keeps its place and its beginning, with the new password", () => {
  const { catalogs } = store;
  const role = { branchId: main, login: true, createdAt: 1, updatedAt: 1 };
  for (const name of ["first", "second"]) catalogs.putRole({ ...role, name, passwordSource: "old" });
  catalogs.putRole({ ...role, name: "first", passwordSource: "new", createdAt: 2, updatedAt: 2 });
  const found = catalogs.roles(main).slice(-2);
  expect(
    found.map(({ name, passwordSource, createdAt, updatedAt }) => [name, passwordSource, createdAt, updatedAt]),
  ).toEqual([
    ["first", "new", 1, 2],
    ["second", "old", 1, 1],
  ]);
});

it("a member that is put again keeps the time at which they joined, in the new role", () => {
  const { accounts } = store;
  const member = { organizationId: "org-shop", accountId: "acc-ana", joinedAt: 9, role: "viewer" } as const;
  const before = accounts.member("org-shop", "acc-ana");
  accounts.putMember(member);
  expect(accounts.member("org-shop", "acc-ana")).toEqual({ ...member, joinedAt: before?.joinedAt });
  expect(before?.joinedAt).not.toBe(9);
});
