import { expect, it } from "vitest";
import type { Owner } from "../../../src/service/store/projects.ts";
import { keys, Shop } from "../support/shop.ts";

const ofBob: Owner = { kind: "account", id: "acc-bob" };
const ofAna: Owner = { kind: "account", id: "acc-ana" };
const ofShop: Owner = { kind: "organization", id: "org-shop" };
const ofFree: Owner = { kind: "organization", id: "org-free" };

/** A shop in which an owner has so many projects. */
function shopWith(owner: Owner, wanted: number): Shop {
  const free = { id: "org-free", plan: "free", members: [{ account: "acc-ana", role: "admin" as const }] };
  const shop = new Shop().applySeed({ organizations: [free] });
  shop.core.change(({ store: { projects } }, at) => {
    const [like] = projects.list({ owners: [ofBob], limit: 1 });
    if (!like) throw new Error("bob has no project");
    const { seq: _, activeMs: __, computeMs: ___, ...fields } = like;
    for (let count = projects.count(owner); count < wanted; count += 1) {
      projects.insert({ ...fields, id: `more-${count}`, owner, createdAt: at });
    }
  });
  return shop;
}

const more = (shop: Shop, key: string, org_id?: string) =>
  shop.send(key, "POST /projects", { project: { ...(org_id !== undefined && { org_id }) } });

it.each([
  ["an account of the free plan", ofBob, keys.bob, undefined, 100],
  ["an account of a paid plan", ofAna, keys.ana, undefined, 1000],
  ["an organization of a paid plan", ofShop, keys.shop, "org-shop", 1000],
])("a project beyond those that %s may have is refused, until one is deleted", (_, owner, key, org, limit) => {
  const shop = shopWith(owner, limit - 1);
  const last = more(shop, key, org);
  const refused = more(shop, key, org);
  expect([last.status, refused.status]).toEqual([201, 422]);
  expect(refused.body).toMatchObject({
    code: "PROJECTS_LIMIT_EXCEEDED",
    message: `projects limit exceeded: an owner of this plan has at most ${limit} projects, so delete one first`,
  });
  expect(more(shop, keys.eve).status).toBe(201);
  expect(shop.send(key, "DELETE /projects/more-50").status).toBe(200);
  expect(more(shop, key, org).status).toBe(201);
});

it("a transfer takes no project beyond those that its new owner may have, and none of those beside it", () => {
  const shop = shopWith(ofFree, 99);
  const transfer = (...project_ids: string[]) =>
    shop.ana("POST /organizations/org-shop/projects/transfer", { destination_org_id: "org-free", project_ids });
  const refused = transfer("shiny-wind-028834", "shop-two");
  expect([refused.status, refused.body["message"]]).toEqual([
    406,
    expect.stringMatching(/^the projects cannot go to org-free: projects limit exceeded: .* at most 100 projects/),
  ]);
  expect(shop.core.context.store.projects.count(ofFree)).toBe(99);
  expect(transfer("shop-two").status).toBe(200);
});

it("a full owner's projects may be transferred to itself, which moves nothing", () => {
  const shop = shopWith(ofFree, 100);
  const body = { destination_org_id: "org-free", project_ids: ["more-50"] };
  expect(shop.ana("POST /organizations/org-free/projects/transfer", body).status).toBe(200);
});

it.each([
  [keys.bob, 100],
  [keys.ana, 1000],
])("the account of a key says how many projects it may have: %s", (key, projects_limit) => {
  expect(new Shop().send(key, "GET /users/me").body).toMatchObject({ projects_limit });
});
