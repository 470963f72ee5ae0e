import { expect, it } from "vitest";
import { BadSeed } from "../../../src/service/seed/seed.ts";
import { main, preview, primary, project, Shop } from "../support/shop.ts";

it("a compute beyond 5,000 of a project is refused by every way to make one, until one is deleted", () => {
  const shop = new Shop();
  shop.core.change(({ store }) => {
    const like = store.endpoints.byId(primary);
    if (!like) throw new Error("the primary is gone");
    for (let made = 1; made < 5000; made += 1) {
      store.endpoints.insert({ ...like, id: `ep-more-${made}`, type: "read_only" });
    }
  });
  const create = () =>
    shop.ana(`POST /projects/${project}/endpoints`, {
      endpoint: { branch_id: main, type: "read_only", disabled: true },
    });
  const message = "computes limit exceeded: a project has at most 5000 computes, so delete one first";
  expect([create().status, create().body["message"]]).toEqual([422, message]);
  const branch = { branch: { parent_id: preview }, endpoints: [{ type: "read_write" }] };
  const before = shop.core.context.store.branches.count(project);
  expect(shop.ana(`POST /projects/${project}/branches`, branch).status).toBe(422);
  expect(shop.core.context.store.branches.count(project)).toBe(before);
  expect(
    shop.ana("POST /projects/shop-two/endpoints", { endpoint: { branch_id: "br-two", type: "read_only" } }).status,
  ).toBe(201);
  shop.ana(`DELETE /projects/${project}/endpoints/ep-more-1`);
  shop.finishOperations();
  expect([create().status, create().status]).toEqual([201, 422]);
});

it("a seed with more than 5,000 computes in a project is refused with the limit", () => {
  const endpoints = Array.from({ length: 5001 }, () => ({ branchID: "br-wide", type: "read_only" as const }));
  const seed = { projects: [{ id: "wide", owner: "acc-ana", branches: [{ id: "br-wide" }], endpoints }] };
  const plant = () => new Shop().applySeed(seed);
  expect(plant).toThrow(BadSeed);
  expect(plant).toThrow("a compute of project wide on branch br-wide: computes limit exceeded");
});
