import { expect, it, vi } from "vitest";
import { primary, project, Shop } from "../support/shop.ts";

it("the list of a project's computes is read once for all who ask, until one of them changes", () => {
  const shop = new Shop();
  const reads = vi.spyOn(shop.core.context.store.endpoints, "of");
  const lists = [shop.list(), shop.list(), shop.list()];
  expect([lists[1], lists[2], reads.mock.calls]).toEqual([lists[0], lists[0], [[project]]]);
  shop.patch(primary, { suspend_timeout_seconds: 600 });
  expect(shop.list()).toMatchObject([{ id: primary, suspend_timeout_seconds: 600 }]);
  expect(reads).toHaveBeenCalledTimes(2);
});
