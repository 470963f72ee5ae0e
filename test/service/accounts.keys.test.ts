import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test, vi } from "vitest";
import { ApiKeyCreated, ApiKeyRevoked, ApiKeysAnswer } from "../../src/api/api-keys.ts";
import type { KeyScope } from "../../src/service/store/keys.ts";
import { temporaryDirectory } from "../support/guardian.ts";
import type { TestService } from "./support/service.ts";
import { keys, project, Shop, shopSeed } from "./support/shop.ts";

/** Creates a key with another one; answers its id and its secret. */
function created(service: TestService, key: string, path: string, body: object): ApiKeyCreated {
  const answer = service.send(key, `POST ${path}`, body);
  expect(answer.status).toBe(200);
  return ApiKeyCreated.parse(answer.body);
}

function listed(service: TestService, key: string, path: string): ApiKeysAnswer {
  return ApiKeysAnswer.parse(Object.values(service.send(key, `GET ${path}`).body));
}

function works(service: TestService, key: string, target = project): boolean {
  return service.send(key, `GET /projects/${target}`).status === 200;
}

/** Gives an account or an organization keys, so that it has so many. */
function fill(shop: Shop, scope: KeyScope, count: number): void {
  shop.core.change(({ store }, at) => {
    for (let made = store.keys.count(scope); made < count; made += 1) {
      store.keys.insert(`key-${made}`, { name: "more", scope, createdBy: "acc-ana", createdAt: at });
    }
  });
}

const ofAna: KeyScope = { kind: "personal", accountId: "acc-ana" };

it.each<[string, string, KeyScope, object]>([
  ["an account", "/api_keys", ofAna, {}],
  ["an organization", "/organizations/org-shop/api_keys", { kind: "organization", organizationId: "org-shop" }, {}],
  [
    "an organization, for one project",
    "/organizations/org-shop/api_keys",
    { kind: "project", organizationId: "org-shop", projectId: project },
    { project_id: project },
  ],
])("a key beyond 20,000 of %s is refused, until one is revoked", (_, path, scope, wanted) => {
  const shop = new Shop();
  fill(shop, scope, 19_999);
  const create = () => shop.send(keys.ana, `POST ${path}`, { key_name: "more", ...wanted });
  const last = create();
  expect([last.status, create().status]).toEqual([200, 422]);
  expect(create().body["message"]).toMatch(
    /^API keys limit exceeded: an .* has at most 20000 keys, so revoke one first$/,
  );
  expect(shop.send(keys.ana, `DELETE ${path}/${String(last.body["id"])}`).status).toBe(200);
  expect(create().status).toBe(200);
});

it("the keys of an account fill up no other account and no organization", () => {
  const shop = new Shop();
  fill(shop, ofAna, 20_000);
  const status = (key: string, path: string) => shop.send(key, `POST ${path}`, { key_name: "more" }).status;
  expect([
    status(keys.ana, "/api_keys"),
    status(keys.bob, "/api_keys"),
    status(keys.ana, "/organizations/org-shop/api_keys"),
    status(keys.eve, "/organizations/org-other/api_keys"),
  ]).toEqual([422, 200, 200, 200]);
});

describe("keys that are made and revoked without end", () => {
  const rows = (shop: Shop) => shop.database.all("SELECT name FROM api_keys").map(({ name }) => name);

  it.each([
    ["/api_keys", {}],
    ["/organizations/org-shop/api_keys", {}],
    ["/organizations/org-shop/api_keys", { project_id: project }],
  ])("keys of %s with %j leave nothing behind", (path, wanted) => {
    const shop = new Shop();
    const before = rows(shop);
    for (let made = 0; made < 20; made += 1) {
      const { id } = created(shop, keys.ana, path, { key_name: "more", ...wanted });
      expect(shop.send(keys.ana, `DELETE ${path}/${id}`).status).toBe(200);
    }
    expect(rows(shop)).toEqual(before);
  });

  it("keys scoped to a project leave nothing behind where the project does", () => {
    const shop = new Shop();
    const before = rows(shop);
    created(shop, keys.ana, "/organizations/org-shop/api_keys", { key_name: "more", project_id: "shop-two" });
    expect(shop.ana("DELETE /projects/shop-two").status).toBe(200);
    expect(rows(shop)).toEqual(before);
  });

  it("a key of a seed stays revoked, however often the seed is given", () => {
    const shop = new Shop();
    const [laptop] = shop.core.context.store.keys.ofAccount("acc-bob");
    const { key: second } = created(shop, keys.bob, "/api_keys", { key_name: "second" });
    expect(shop.send(keys.bob, `DELETE /api_keys/${laptop?.id}`).status).toBe(200);
    expect(works(shop.applySeed(shopSeed), keys.bob)).toBe(false);
    expect(shop.send(second, `DELETE /api_keys/${laptop?.id}`).status).toBe(404);
  });
});

describe("a personal key", () => {
  it("can be created by any user with another one, and reaches what the user reaches", () => {
    const shop = new Shop();
    const { key } = created(shop, keys.bob, "/api_keys", { key_name: "second" });
    expect(works(shop, key)).toBe(true);
    expect(works(shop, key, "bob-own")).toBe(true);
    expect(works(shop, key, "ana-own")).toBe(false);
  });

  it("shows its secret once, and never in a list", () => {
    const shop = new Shop();
    const { key, id } = created(shop, keys.ana, "/api_keys", { key_name: "second" });
    const { body } = shop.send(keys.ana, "GET /api_keys");
    expect(JSON.stringify(body)).not.toContain(key);
    expect(listed(shop, keys.ana, "/api_keys").map((record) => record.id)).toContain(id);
  });

  it("stops at once and for good when its owner revokes it", () => {
    const shop = new Shop();
    const { key, id } = created(shop, keys.bob, "/api_keys", { key_name: "second" });
    const revoked = shop.send(keys.bob, `DELETE /api_keys/${id}`);
    expect(ApiKeyRevoked.parse(revoked.body)).toMatchObject({ id, name: "second", revoked: true });
    expect(shop.send(key, "GET /projects").status).toBe(401);
    expect(shop.send(keys.bob, `DELETE /api_keys/${id}`).status).toBe(404);
    expect(listed(shop, keys.bob, "/api_keys")).toHaveLength(1);
  });

  it("can revoke itself", () => {
    const shop = new Shop();
    const { key, id } = created(shop, keys.bob, "/api_keys", { key_name: "second" });
    expect(shop.send(key, `DELETE /api_keys/${id}`).status).toBe(200);
    expect(shop.send(key, "GET /projects").status).toBe(401);
  });

  it("can be revoked by nobody but its owner, administrators included", () => {
    const shop = new Shop();
    const id = listed(shop, keys.bob, "/api_keys")[0]?.id;
    expect(shop.send(keys.ana, `DELETE /api_keys/${id}`).status).toBe(404);
    expect(shop.send(keys.ana, `DELETE /organizations/org-shop/api_keys/${id}`).status).toBe(404);
    expect(works(shop, keys.bob)).toBe(true);
  });

  it("loses the organization's projects when its user leaves, and keeps the user's own", () => {
    const shop = new Shop();
    expect(shop.send(undefined, "DELETE /_admin/organizations/org-shop/members/acc-bob").status).toBe(204);
    expect(works(shop, keys.bob)).toBe(false);
    expect(works(shop, keys.bob, "bob-own")).toBe(true);
    expect(JSON.stringify(shop.send(keys.bob, "GET /projects").body)).not.toContain(project);
    expect(shop.send(undefined, "PUT /_admin/organizations/org-shop/members/acc-bob", { role: "member" }).status).toBe(
      200,
    );
    expect(works(shop, keys.bob)).toBe(true);
  });

  it("tells when and from where it was last used", () => {
    const shop = new Shop();
    shop.core.call({
      method: "GET",
      path: "/api/v2/projects",
      headers: { authorization: `Bearer ${keys.bob}` },
      remote: "192.0.2.7",
    });
    expect(listed(shop, keys.bob, "/api_keys")[0]?.last_used_at).toBe("2026-01-01T00:00:00.000Z");
  });

  it("names each machine that uses it within a minute, and notes no other use in that time", () => {
    const shop = new Shop();
    const { key } = created(shop, keys.bob, "/api_keys", { key_name: "second" });
    const usedFrom = (remote: string) => {
      shop.core.call({ method: "GET", path: "/api/v2/auth", headers: { authorization: `Bearer ${key}` }, remote });
      const used = listed(shop, keys.bob, "/api_keys").find(({ name }) => name === "second");
      return [used?.last_used_from_addr, used?.last_used_at];
    };
    expect(usedFrom("192.0.2.7")).toEqual(["192.0.2.7", "2026-01-01T00:00:00.000Z"]);
    shop.time.pass(1000);
    expect(usedFrom("192.0.2.7")).toEqual(["192.0.2.7", "2026-01-01T00:00:00.000Z"]);
    expect(usedFrom("192.0.2.8")).toEqual(["192.0.2.8", "2026-01-01T00:00:01.000Z"]);
  });

  it("a key that two machines use in turn costs one write a minute, and shows each use from the other machine", () => {
    const shop = new Shop();
    const writes = vi.spyOn(shop.database, "run");
    const shownFrom: (string | undefined)[] = [];
    for (let request = 0; request <= 120; request += 1) {
      const remote = request % 2 === 0 ? "192.0.2.7" : "192.0.2.8";
      const headers = { authorization: `Bearer ${keys.bob}` };
      shop.core.call({ method: "GET", path: "/api/v2/auth", headers, remote });
      const [key] = shop.core.context.store.keys.ofAccount("acc-bob");
      shownFrom.push(key?.lastUsedFrom);
      shop.time.pass(1000);
    }
    expect(writes.mock.calls.filter(([sql]) => sql.includes("api_keys"))).toHaveLength(3);
    expect(shownFrom).toEqual(shownFrom.map((_, index) => (index % 2 === 0 ? "192.0.2.7" : "192.0.2.8")));
  });

  it("an account's thousands of keys, used one after the other, cost a write each 100 ms, and each shows its use", () => {
    const shop = new Shop();
    const made = Array.from({ length: 30 }, () => created(shop, keys.bob, "/api_keys", { key_name: "one of many" }));
    const useAll = () => {
      for (const { key } of made) shop.send(key, "GET /auth");
    };
    useAll();
    shop.time.pass(60_000);
    const writes = vi.spyOn(shop.database, "run");
    useAll();
    shop.time.pass(100);
    useAll();
    expect(writes.mock.calls.filter(([sql]) => sql.includes("api_keys"))).toHaveLength(2);
    const shown = [...shop.core.context.store.keys.ofAccount("acc-bob")].filter(({ name }) => name === "one of many");
    expect(new Set(shown.map(({ lastUsedAt = 0 }) => shop.time.now() - lastUsedAt))).toEqual(new Set([0, 100]));
  });

  it("a key shows its last use also where that is stored, after one from another machine that was not", () => {
    const shop = new Shop();
    const use = (remote: string) =>
      shop.core.call({ method: "GET", path: "/api/v2/auth", headers: { authorization: `Bearer ${keys.bob}` }, remote });
    use("192.0.2.7");
    shop.time.pass(1000);
    use("192.0.2.8");
    shop.time.pass(60_000);
    use("192.0.2.7");
    const [key] = shop.core.context.store.keys.ofAccount("acc-bob");
    expect([key?.lastUsedFrom, key?.lastUsedAt]).toEqual(["192.0.2.7", shop.time.now()]);
  });

  it("a key shows its last use also where the clock was set back before it", () => {
    const { keys: stored } = new Shop().core.context.store;
    const [first, last] = [Date.UTC(2026, 0, 2), Date.UTC(2026, 0, 1)];
    for (const at of [first, last]) for (const key of stored.ofAccount("acc-bob")) stored.used(key, at, "192.0.2.7");
    const shown = () => [...stored.ofAccount("acc-bob")].map(({ lastUsedAt }) => lastUsedAt);
    expect(shown()).toEqual([last]);
    // It is stored as well, and not only known to this process until the clock has come that far again.
    stored.forgetUses();
    expect(shown()).toEqual([last]);
  });

  it("a key of a new seed does not show the use of the key that had its number before", () => {
    const shop = new Shop();
    const use = (remote: string) =>
      shop.core.call({ method: "GET", path: "/api/v2/auth", headers: { authorization: `Bearer ${keys.bob}` }, remote });
    use("192.0.2.7");
    use("192.0.2.8");
    shop.core.context.store.clear();
    shop.applySeed(shopSeed);
    expect(shop.core.context.store.keys.ofAccount("acc-bob").at(0)?.lastUsedFrom).toBeUndefined();
  });
});

it("an organization key can only be created by an administrator, with their personal key", () => {
  const shop = new Shop();
  const { key } = created(shop, keys.ana, "/organizations/org-shop/api_keys", { key_name: "new" });
  expect(works(shop, key)).toBe(true);
  expect(works(shop, key, "shop-two")).toBe(true);
  const others = [keys.bob, keys.shop, keys.scoped, keys.eve].map(
    (other) => shop.send(other, "POST /organizations/org-shop/api_keys", { key_name: "new" }).status,
  );
  expect(others).toEqual([403, 404, 404, 404]);
});

it("an organization key reaches every project of the organization with an administrator's rights, and no other", () => {
  const shop = new Shop();
  expect(works(shop, keys.shop)).toBe(true);
  expect(works(shop, keys.shop, "ana-own")).toBe(false);
  expect(works(shop, keys.shop, "eve-own")).toBe(false);
  expect(shop.send(keys.shop, "DELETE /projects/shop-two").status).toBe(200);
});

it("an organization key is not allowed for calls about a user", () => {
  const refused = new Shop().send(keys.shop, "GET /api_keys");
  expect(refused.status).toBe(404);
  expect(refused.body["message"]).toBe("not allowed for organization API keys");
});

it("an organization key can be revoked by administrators, and not by other members", () => {
  const shop = new Shop();
  const { key, id } = created(shop, keys.ana, "/organizations/org-shop/api_keys", { key_name: "new" });
  expect(shop.send(keys.bob, `DELETE /organizations/org-shop/api_keys/${id}`).status).toBe(403);
  expect(works(shop, key)).toBe(true);
  expect(shop.send(keys.ana, `DELETE /organizations/org-shop/api_keys/${id}`).status).toBe(200);
  expect(shop.send(key, "GET /projects").status).toBe(401);
});

it("an organization key cannot be revoked by administrators of another organization", () => {
  const shop = new Shop();
  const { key, id } = created(shop, keys.ana, "/organizations/org-shop/api_keys", { key_name: "new" });
  expect(shop.send(keys.eve, `DELETE /organizations/org-other/api_keys/${id}`).status).toBe(404);
  expect(works(shop, key)).toBe(true);
});

it("an organization key of a seed was created by an administrator, also where another member is named first", () => {
  const members = [
    { account: "acc-bob", role: "member" as const },
    { account: "acc-eve", role: "admin" as const },
  ];
  const shop = new Shop().applySeed({
    organizations: [{ id: "org-new", members, apiKeys: [{ name: "ci", key: "new" }] }],
  });
  expect(listed(shop, "new", "/organizations/org-new/api_keys")[0]?.created_by.name).toBe("eve@example.com");
});

it("an organization key outlives the membership of its creator", () => {
  const shop = new Shop();
  const { key } = created(shop, keys.ana, "/organizations/org-shop/api_keys", { key_name: "new" });
  shop.send(undefined, "PUT /_admin/organizations/org-shop/members/acc-bob", { role: "admin" });
  shop.send(undefined, "DELETE /_admin/organizations/org-shop/members/acc-ana");
  expect(works(shop, key)).toBe(true);
});

describe("a project-scoped key", () => {
  const made = (shop: Shop) =>
    created(shop, keys.bob, "/organizations/org-shop/api_keys", { key_name: "one", project_id: project });

  it("can be created by any member, and names its project", () => {
    const shop = new Shop();
    expect(made(shop).project_id).toBe(project);
    expect(listed(shop, keys.bob, "/organizations/org-shop/api_keys").at(-1)?.project_id).toBe(project);
  });

  it("a project-scoped key is for a project of that organization alone", () => {
    const refused = ["eve-own", "ana-own", "nowhere"].map(
      (project_id) =>
        new Shop().send(keys.ana, "POST /organizations/org-shop/api_keys", { key_name: "one", project_id }).status,
    );
    expect(refused).toEqual([404, 404, 404]);
  });

  it("manages its project's computes, and sees that project only", () => {
    const shop = new Shop();
    const { key } = made(shop);
    const create = { endpoint: { branch_id: "br-preview-1", type: "read_write" } };
    expect(shop.send(key, `POST /projects/${project}/endpoints`, create).status).toBe(201);
    expect(shop.send(key, "GET /projects").body["projects"]).toMatchObject([{ id: project }]);
    // Whether the other project is there does not show.
    for (const id of ["shop-two", "eve-own", "nowhere"]) {
      const elsewhere = shop.send(key, `GET /projects/${id}/endpoints`);
      expect([elsewhere.status, elsewhere.body["message"]]).toEqual([
        404,
        `not allowed to perform actions outside the project this key is scoped to; subject_project_id:"${project}"`,
      ]);
    }
  });

  it("cannot delete its project, create one, or act on the organization", () => {
    const shop = new Shop();
    const { key } = made(shop);
    const refused = [
      shop.send(key, `DELETE /projects/${project}`),
      shop.send(key, "POST /projects", { project: {} }),
      shop.send(key, "GET /organizations/org-shop/api_keys"),
      shop.send(key, "POST /organizations/org-shop/api_keys", { key_name: "new", project_id: project }),
      shop.send(key, "GET /organizations/org-shop/members"),
    ].map(({ status }) => status);
    expect(refused).toEqual([403, 404, 404, 404, 404]);
    expect(works(shop, key)).toBe(true);
  });

  it("stops for good when its project leaves the organization", () => {
    const shop = new Shop();
    const { key } = made(shop);
    expect(shop.send(undefined, `PUT /_admin/projects/${project}/owner`, { owner: "acc-ana" }).status).toBe(200);
    expect(shop.send(key, `GET /projects/${project}`).status).toBe(401);
    expect(works(shop, keys.ana)).toBe(true);
    expect(works(shop, keys.shop)).toBe(false);
    expect(listed(shop, keys.shop, "/organizations/org-shop/api_keys").map(({ name }) => name)).toEqual(["ci"]);
    shop.send(undefined, `PUT /_admin/projects/${project}/owner`, { owner: "org-shop" });
    expect(shop.send(key, `GET /projects/${project}`).status).toBe(401);
  });

  it("goes on when its project is given to the organization that has it", () => {
    const shop = new Shop();
    const { key } = made(shop);
    expect(shop.send(undefined, `PUT /_admin/projects/${project}/owner`, { owner: "org-shop" }).status).toBe(200);
    expect(works(shop, key)).toBe(true);
  });

  it("stops when its project is deleted", () => {
    const shop = new Shop();
    const { key } = made(shop);
    expect(shop.ana(`DELETE /projects/${project}`).status).toBe(200);
    expect(shop.send(key, "GET /projects").status).toBe(401);
    expect(listed(shop, keys.shop, "/organizations/org-shop/api_keys").map(({ name }) => name)).toEqual(["ci"]);
  });

  it("can be revoked by administrators", () => {
    const shop = new Shop();
    const { key, id } = made(shop);
    expect(shop.send(keys.shop, `DELETE /organizations/org-shop/api_keys/${id}`).status).toBe(200);
    expect(works(shop, key)).toBe(false);
  });
});

describe("an account", () => {
  it("may have ten thousand keys", () => {
    const shop = new Shop();
    shop.core.change((context, at) => {
      for (let index = 0; index < 10_000; index++) {
        const scope = { kind: "personal", accountId: "acc-eve" } as const;
        context.store.keys.insert(`key-${index}`, { name: `${index}`, scope, createdBy: "acc-eve", createdAt: at });
      }
    });
    expect(created(shop, keys.eve, "/api_keys", { key_name: "one more" }).id).toBeGreaterThan(10_000);
    expect(works(shop, "key-9999", "eve-own")).toBe(true);
  });
});

describe("GET /auth", () => {
  test.each([
    { key: keys.ana, account_id: "acc-ana", auth_method: "api_key_user" },
    { key: keys.shop, account_id: "org-shop", auth_method: "api_key_org" },
    { key: keys.scoped, account_id: "org-shop", auth_method: "api_key_org" },
  ])("says $auth_method for $key", ({ key, account_id, auth_method }) => {
    expect(new Shop().send(key, "GET /auth").body).toEqual({ account_id, auth_method });
  });
});

describe("the store", () => {
  it("holds no secret, only hashes", () => {
    using directory = disposable();
    const file = join(directory.path, "service.sqlite");
    const shop = new Shop({ file });
    const { key } = created(shop, keys.ana, "/api_keys", { key_name: "second" });
    shop.core.close();
    const bytes = readFileSync(file).toString("latin1");
    for (const secret of [key, ...Object.values(keys)]) expect(bytes).not.toContain(secret);
  });
});

function disposable() {
  const directory = temporaryDirectory("keys");
  return { path: directory.path, [Symbol.dispose]: () => directory.remove() };
}

it("the keys of projects that go are ended without a look at any", () => {
  const shop = new Shop();
  fill(shop, { kind: "project", organizationId: "org-shop", projectId: project }, 10);
  const asks = [vi.spyOn(shop.database, "all"), vi.spyOn(shop.database, "one")];
  const ended = vi.spyOn(shop.database, "run");
  shop.core.change(({ store }, at) => store.keys.revokeScopedTo([project, "shop-two"], at));
  expect([asks.flatMap(({ mock }) => mock.calls), ended.mock.calls.length]).toEqual([[], 2]);
  expect(shop.core.context.store.keys.count({ kind: "organization", organizationId: "org-shop" })).toBe(1);
});
