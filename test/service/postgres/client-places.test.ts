import { expect, it } from "vitest";
import { ClientPlaces } from "../../../src/service/postgres/client-places.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import { primary, project, Shop } from "../support/shop.ts";

it("clients hold their places in the name of the new owner of their project, and of the former one where that has no room", () => {
  const { core } = new Shop();
  const budget = new Shares(12);
  const places = new ClientPlaces(core, [budget]);
  const session = () => ({ endpointId: primary, pooled: false, counts: true, logout: new AbortController() });
  const clients = Array.from({ length: 6 }, session);
  const give = (id: string) =>
    core.change(({ store }, at) => store.projects.setOwner([project], { kind: "organization", id }, at));
  expect(clients.map((one) => places.take(one))).toEqual([true, true, true, true, true, true]);
  const left = (owner: string) => {
    const part = budget.of(owner);
    let taken = 0;
    while (part.take(1)) taken += 1;
    part.release();
    return taken;
  };
  expect([left("org-shop"), left("org-other")]).toEqual([0, 3]);
  give("org-other");
  expect([left("org-shop"), left("org-other")]).toEqual([3, 0]);
  core.change(({ store }) => {
    const endpoint = store.endpoints.byId(primary);
    if (endpoint) store.endpoints.delete(endpoint);
  });
  give("org-shop");
  expect([left("org-shop"), left("org-other")]).toEqual([3, 0]);
  for (const one of clients) places.release(one);
  expect([budget.all, budget.holders]).toEqual([0, 0]);
});
