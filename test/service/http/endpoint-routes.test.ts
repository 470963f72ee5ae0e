import { expect, it, vi } from "vitest";
import { main, preview, primary, project, Shop } from "../support/shop.ts";

it("the list of a project's computes is read once for all who ask, until one of them changes", () => {
  const shop = new Shop();
  const reads = vi.spyOn(shop.core.context.store.endpoints, "of");
  const lists = [shop.list(), shop.list(), shop.list()];
  expect([lists[1], lists[2], reads.mock.calls]).toEqual([lists[0], lists[0], [[project]]]);
  shop.patch(primary, { suspend_timeout_seconds: 600 });
  expect(shop.list()).toMatchObject([{ id: primary, suspend_timeout_seconds: 600 }]);
  expect(reads).toHaveBeenCalledTimes(2);
});

it("the list of a project's computes shows each that is made, deleted, gone with its branch or back with it", () => {
  const shop = new Shop({ branchRecovery: true });
  const others = () => shop.list().flatMap(({ id }) => (id === primary ? [] : [id]));
  expect(others()).toEqual([]);
  const replica = shop.create({ branch_id: main, type: "read_only" }).endpoint.id;
  expect(others()).toEqual([replica]);
  shop.finishOperations();
  const own = shop.create({ branch_id: preview, type: "read_write" }).endpoint.id;
  shop.finishOperations();
  expect(others()).toEqual([replica, own]);
  shop.ana(`DELETE /projects/${project}/endpoints/${replica}`);
  expect(others()).toEqual([own]);
  shop.ana(`DELETE /projects/${project}/branches/${preview}`);
  expect(others()).toEqual([]);
  shop.ana(`POST /projects/${project}/branches/${preview}/recover`);
  expect(others()).toEqual([own]);
});
