import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { rules } from "../../../src/service/rules.ts";
import { keys, main, project, Shop } from "../support/shop.ts";

let shop: Shop;
beforeEach(() => {
  shop = new Shop();
});

const fromShop = "POST /organizations/org-shop/projects/transfer";
const ownerOf = (id: string) => shop.core.context.store.projects.get(id)?.owner;
const toOther = (...project_ids: string[]) => ({ destination_org_id: "org-other", project_ids });

/** Makes Ana a member of the organization to which projects go. */
function joinOther(role: "member" | "viewer"): void {
  shop.send(undefined, "PUT /_admin/organizations/org-other/members/acc-ana", { role });
}

describe("a transfer of projects", () => {
  it("a transfer moves those of the organization to the other one, and is answered an empty object", () => {
    joinOther("member");
    expect(shop.ana(fromShop, toOther(project, "shop-two")).status).toBe(200);
    const other = { kind: "organization", id: "org-other" };
    expect([ownerOf(project), ownerOf("shop-two")]).toEqual([other, other]);
    expect(shop.send(keys.other, "GET /projects").body["projects"]).toMatchObject([
      { id: project },
      { id: "shop-two" },
    ]);
  });

  it("a transfer to the organization that has the projects changes nothing, also where it has all that its plan allows", () => {
    const members = [{ account: "acc-ana", role: "admin" as const }];
    shop.applySeed({
      organizations: [{ id: "org-full", plan: "free", members }],
      projects: Array.from({ length: 100 }, (_, n) => ({ id: `full-${n}`, owner: "org-full", endpoints: [] })),
    });
    const body = { destination_org_id: "org-full", project_ids: ["full-1", "full-2"] };
    expect(shop.ana("POST /organizations/org-full/projects/transfer", body).status).toBe(200);
  });

  it.each(["ana-own", "eve-own", "none"])(
    "a transfer moves none where one is not the organization's: %s",
    (foreign) => {
      joinOther("member");
      shop.send(undefined, "PUT /_admin/projects/eve-own/owner", { owner: "org-other" });
      const before = ["ana-own", "eve-own", project].map(ownerOf);
      const answer = shop.ana(fromShop, toOther(project, foreign));
      expect([answer.status, answer.body["message"]]).toEqual([404, `project ${foreign} not found`]);
      expect(["ana-own", "eve-own", project].map(ownerOf)).toEqual(before);
    },
  );

  it.each([project, "bob-own", "none"])(
    "a transfer of an account moves none that is not the account's: %s",
    (foreign) => {
      const body = { destination_org_id: "org-shop", project_ids: ["ana-own", foreign] };
      const answer = shop.ana("POST /users/me/projects/transfer", body);
      expect([answer.status, answer.body["message"]]).toEqual([404, `project ${foreign} not found`]);
      expect(ownerOf("ana-own")).toEqual({ kind: "account", id: "acc-ana" });
    },
  );

  it("a transfer needs a right to change in the other organization, and is not told of one that it does not know", () => {
    expect(shop.ana(fromShop, toOther(project))).toMatchObject({
      status: 404,
      body: { message: "destination organization not found" },
    });
    joinOther("viewer");
    expect(shop.ana(fromShop, toOther(project))).toMatchObject({
      status: 403,
      body: { message: "this call needs an editor of organization org-other" },
    });
    expect(ownerOf(project)).toEqual({ kind: "organization", id: "org-shop" });
  });
});

it("a mistake of ours in a transfer is no refusal of the plan", () => {
  const counting = vi.spyOn(shop.core.context.store.projects, "count").mockImplementation(() => {
    throw new Error("the inner workings");
  });
  onTestFinished(() => counting.mockRestore());
  joinOther("member");
  expect(shop.ana(fromShop, toOther(project)).status).toBe(500);
});

describe("a transfer to an organization of the free plan", () => {
  const free = { id: "org-free", plan: "free", members: [{ account: "acc-ana", role: "admin" as const }] };
  const other = { protected: true };
  const transfer = () => shop.ana(fromShop, { destination_org_id: "org-free", project_ids: ["shop-two", project] });

  it.each([
    ["a large compute", () => shop.active({ autoscaling_limit_max_cu: 4 }), "ends at 2 CU"],
    ["a compute that is always on", () => shop.active({ suspend_timeout_seconds: -1 }), "scale to zero cannot be"],
    [
      "large sizes of new computes",
      () => usual({ autoscaling_limit_min_cu: 4 }),
      "settings: the free plan ends at 2 CU",
    ],
    ["new computes always on", () => usual({ suspend_timeout_seconds: -1 }), "settings: scale to zero cannot be"],
    ["more branches", () => branches(8, {}), "at most 10 branches"],
    ["more root branches", () => branches(3, { init_source: "schema-only" }), "at most 3 root branches"],
    [
      "protected branches",
      () => shop.ana(`PATCH /projects/${project}/branches/${main}`, { branch: other }),
      "no protected",
    ],
  ])("a transfer moves none where one has what the plan does not allow: %s", (_, make, words) => {
    shop = new Shop(words.includes("root") || words.includes("protected") ? { rules: rules.neon } : {});
    shop.applySeed({ organizations: [free] });
    expect(transfer().status).toBe(200);
    shop.ana("POST /organizations/org-free/projects/transfer", toShop("shop-two", project));
    make();
    const { status, body } = transfer();
    expect([status, body["message"]]).toEqual([
      406,
      expect.stringContaining(`project ${project} cannot go to org-free: `),
    ]);
    expect(body["message"]).toContain(words);
    expect([ownerOf(project), ownerOf("shop-two")]).toEqual([inShop, inShop]);
  });

  it("a transfer takes no large compute along in a branch that is deleted, and recovered there", () => {
    shop = new Shop({ branchRecovery: true });
    shop.applySeed({ organizations: [free] });
    const large = { type: "read_write", autoscaling_limit_max_cu: 4 };
    const { branch } = shop.ana(`POST /projects/${project}/branches`, {
      branch: { name: "b" },
      endpoints: [large],
    }).body;
    const { id } = z.looseObject({ id: z.string() }).parse(branch);
    shop.finishOperations().ana(`DELETE /projects/${project}/branches/${id}`);
    expect(transfer().status).toBe(200);
    const recovered = shop.ana(`POST /projects/${project}/branches/${id}/recover`);
    expect([recovered.status, recovered.body["message"]]).toEqual([422, expect.stringContaining("ends at 2 CU")]);
  });

  const inShop = { kind: "organization", id: "org-shop" };
  const toShop = (...project_ids: string[]) => ({ destination_org_id: "org-shop", project_ids });
  const usual = (default_endpoint_settings: object) =>
    shop.ana(`PATCH /projects/${project}`, { project: { default_endpoint_settings } });
  const branches = (count: number, branch: object) =>
    Array.from({ length: count }, () => shop.finishOperations().ana(`POST /projects/${project}/branches`, { branch }));
});

it.each([
  ["POST", "/organizations/org-shop/projects/transfer", { destination_org_id: "org-shop", project_ids: [project] }],
  ["POST", "/users/me/projects/transfer", { destination_org_id: "org-shop", project_ids: ["ana-own"] }],
])("a client that parses the answer of %s %s finds an empty object", (method, path, body) => {
  const headers = { authorization: `Bearer ${keys.ana}` };
  const reply = shop.core.call({ method, path: `/api/v2${path}`, headers, body: JSON.stringify(body) });
  expect([reply.status, reply.body]).toEqual([200, "{}"]);
});

it.each([
  [keys.ana, "scale", 0, "UNKNOWN"],
  [keys.bob, "free", 2, "free_v3"],
])("an account shows the limits of its plan: key %s, plan %s", (key, plan, largest, subscription) => {
  shop.time.pass(864_000_000);
  expect(shop.send(key, "GET /users/me").body).toMatchObject({
    plan,
    max_autoscaling_limit: largest,
    billing_account: {
      subscription_type: subscription,
      plan_details: { name: plan },
      quota_reset_at_last: "2026-01-01T00:00:00.000Z",
    },
  });
});

it.each([
  ["ana", ["org-shop"]],
  ["eve", ["org-other"]],
  ["shop", ["org-shop"]],
  ["scoped", ["org-shop"]],
  ["other", ["org-other"]],
] as const)("the key %s shows the organizations that it reaches, and no others", (name, ids) => {
  const { organizations } = shop.send(keys[name], "GET /users/me/organizations").body;
  expect(organizations).toMatchObject(ids.map((id) => ({ id })));
  expect(organizations).toHaveLength(ids.length);
});

it.each([
  ["ana", "acc-ana", "api_key_user"],
  ["shop", "org-shop", "api_key_org"],
  ["scoped", "org-shop", "api_key_org"],
] as const)("the key %s says for whom it speaks", (name, account_id, auth_method) => {
  expect(shop.send(keys[name], "GET /auth").body).toEqual({ account_id, auth_method });
});
