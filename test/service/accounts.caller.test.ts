import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Caller, mayReachProject, rightIn, visibleOwners } from "../../src/service/accounts/caller.ts";
import { isSameOwner } from "../../src/service/accounts/owner.ts";
import { StoreFull } from "../../src/service/refusal.ts";
import { rules } from "../../src/service/rules.ts";
import type { KeyScope } from "../../src/service/store/keys.ts";
import type { Owner } from "../../src/service/store/projects.ts";
import { keys, main, project, Shop } from "./support/shop.ts";

const organizationId = "org-shop";
const scopes = {
  ana: { kind: "personal", accountId: "acc-ana" },
  bob: { kind: "personal", accountId: "acc-bob" },
  eve: { kind: "personal", accountId: "acc-eve" },
  organization: { kind: "organization", organizationId },
  project: { kind: "project", organizationId, projectId: project },
  // Ids of accounts and of organizations are of one kind: the same id may be both.
  namesake: { kind: "organization", organizationId: "acc-ana" },
} satisfies Record<string, KeyScope>;

const caller = (scope: KeyScope): Caller => ({ scope, limitedAs: "" });

describe("the right of a caller in the projects of an owner", () => {
  const owners: Owner[] = [
    { kind: "account", id: "acc-ana" },
    { kind: "organization", id: organizationId },
    { kind: "organization", id: "org-other" },
    { kind: "account", id: organizationId },
  ];
  it.each<[scope: keyof typeof scopes, rights: (string | undefined)[]]>([
    ["ana", ["admin", "admin", undefined, undefined]],
    ["bob", [undefined, "member", undefined, undefined]],
    ["eve", [undefined, undefined, "admin", undefined]],
    ["organization", [undefined, "admin", undefined, undefined]],
    ["project", [undefined, "member", undefined, undefined]],
    ["namesake", [undefined, undefined, undefined, undefined]],
  ])(
    "the scope %s has the rights %j in an account, an organization, another one, and an account of the organization's id",
    (name, expected) => {
      const { store } = new Shop().core.context;
      expect(owners.map((owner) => rightIn(store, caller(scopes[name]), owner))).toEqual(expected);
    },
  );
});

it.each<[scope: keyof typeof scopes, owners: Owner[]]>([
  [
    "bob",
    [
      { kind: "account", id: "acc-bob" },
      { kind: "organization", id: organizationId },
    ],
  ],
  ["organization", [{ kind: "organization", id: organizationId }]],
  ["project", [{ kind: "organization", id: organizationId }]],
])("a caller of the scope %s lists the projects of %j", (name, owners) => {
  expect(visibleOwners(new Shop().core.context.store, caller(scopes[name]))).toEqual(owners);
});

it("a caller reaches a project or is refused, and an error of the store is neither", () => {
  const { store } = new Shop().core.context;
  const reaches = (id: string) => mayReachProject(store, caller(scopes.bob), id, "member");
  expect([reaches(project), reaches("eve-own"), reaches("none")]).toEqual([true, false, false]);
  const broken = vi.spyOn(store.projects, "get").mockImplementation(() => {
    throw new Error("the disk is gone");
  });
  onTestFinished(() => broken.mockRestore());
  expect(() => reaches(project)).toThrow("the disk is gone");
});

it("an account and an organization of one id are two owners", () => {
  const owners: Owner[] = [
    { kind: "account", id: "acc-ana" },
    { kind: "organization", id: "acc-ana" },
    { kind: "account", id: "acc-bob" },
  ];
  const same = (one: Owner | undefined) => owners.map((other) => isSameOwner(one, other));
  expect(owners.map(same)).toEqual([
    [true, false, false],
    [false, true, false],
    [false, false, true],
  ]);
  expect(same(undefined)).toEqual([false, false, false]);
});

describe("a refusal of a caller", () => {
  const viewer = (shop: Shop) => {
    shop.send(undefined, "PUT /_admin/organizations/org-shop/members/acc-bob", { role: "viewer" });
    return keys.bob;
  };
  it.each<[what: string, line: string, body: object, key: (shop: Shop) => string, message: string]>([
    [
      "a viewer who changes a project",
      `PATCH /projects/${project}`,
      { project: { name: "next" } },
      viewer,
      `this key only reads project ${project}: its user is a viewer in the organization`,
    ],
    [
      "a viewer who creates a project",
      "POST /projects",
      { project: { org_id: organizationId } },
      viewer,
      "this call needs an editor of organization org-shop",
    ],
    [
      "a viewer who makes a key for one project",
      "POST /organizations/org-shop/api_keys",
      { key_name: "one", project_id: project },
      viewer,
      "this call needs an editor of organization org-shop",
    ],
    [
      "a member who deletes a project",
      `DELETE /projects/${project}`,
      {},
      () => keys.bob,
      `this call on project ${project} needs an administrator of its organization, or an organization API key`,
    ],
    [
      "a member who revokes an organization's key",
      "DELETE /organizations/org-shop/api_keys/1",
      {},
      () => keys.bob,
      "this call needs an administrator of organization org-shop",
    ],
  ])("a refusal names the right that is missing: %s", (_, line, body, keyOf, message) => {
    const shop = new Shop();
    const answer = shop.send(keyOf(shop), line, line.startsWith("DELETE") ? undefined : body);
    expect([answer.status, answer.body["message"]]).toEqual([403, message]);
  });
});

it("a key whose use cannot be noted is served where the disk is full, and not where the store fails", () => {
  const shop = new Shop();
  const fails = (error: Error) => {
    const used = vi.spyOn(shop.core.context.store.keys, "used").mockImplementation(() => {
      throw error;
    });
    const { status } = shop.send(keys.bob, "GET /projects");
    used.mockRestore();
    return status;
  };
  expect([fails(new StoreFull()), fails(new Error("broken"))]).toEqual([200, 500]);
});

it.each(["ana", "shop"] as const)("the rate limit of keys for one project is none of the key %s", (name) => {
  const shop = new Shop({ rules: rules.neon });
  const statuses = Array.from({ length: 20 }, () => shop.send(keys[name], `GET /projects/${project}`).status);
  expect(new Set(statuses)).toEqual(new Set([200]));
});

it("all keys of an organization, also those for one of its projects, have the organization's requests together", () => {
  const shop = new Shop({ rateLimits: { perMinute: 3, perSecondAndRoute: 3 } });
  const { key } = shop.ana("POST /organizations/org-shop/api_keys", { key_name: "second" }).body;
  const statuses = [keys.shop, String(key), keys.scoped, String(key), keys.other].map(
    (one) => shop.send(one, "GET /projects").status,
  );
  expect(statuses).toEqual([200, 200, 200, 429, 200]);
});

it("a key for one project ends when its project is another owner's, also where nothing has revoked it", () => {
  const shop = new Shop();
  const status = () => shop.send(keys.scoped, `GET /projects/${project}`).status;
  expect(status()).toBe(200);
  shop.core.change(({ store }, at) => store.projects.setOwner([project], { kind: "account", id: "acc-ana" }, at));
  expect(status()).toBe(401);
});

it("the word before a key is taken in capital and small letters, as HTTP has it", () => {
  const { core } = new Shop();
  const status = (authorization: string) =>
    core.call({ method: "GET", path: "/api/v2/auth", headers: { authorization } }).status;
  expect(["bearer", "BEARER", "Basic"].map((word) => status(`${word} ${keys.ana}`))).toEqual([200, 200, 401]);
});

it("a call is reached ahead of its time by callers with its own right: a viewer's to read, and not to change", () => {
  const shop = new Shop();
  const reached = (method: string) =>
    shop.core.reached({
      method,
      path: `/api/v2/projects/${project}/branches/${main}`,
      headers: { authorization: `Bearer ${keys.bob}` },
    })?.params["branch_id"];
  expect(["GET", "PATCH"].map(reached)).toEqual([main, main]);
  shop.send(undefined, "PUT /_admin/organizations/org-shop/members/acc-bob", { role: "viewer" });
  expect(["GET", "PATCH"].map(reached)).toEqual([main, undefined]);
});
