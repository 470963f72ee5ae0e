import { beforeEach, expect, it } from "vitest";
import { replacedOf, undoRestore } from "../../../src/service/domain/undo-restore.ts";
import { required } from "../../../src/service/refusal.ts";
import type { Branch } from "../../../src/service/store/branches.ts";
import type { Store } from "../../../src/service/store/store.ts";
import { main, preview, Shop, staging } from "../support/shop.ts";

let shop: Shop;
let store: Store;
beforeEach(() => {
  shop = new Shop();
  ({ store } = shop.core.context);
});

const branch = (id: string) => required("branch", store.branches.byId(id));

function change(id: string, fields: Partial<Branch>): void {
  shop.core.change(({ store: { branches } }, at) => branches.update({ ...branch(id), ...fields }, at));
}

/** Notes a restore of `preview` from `main`, which `staging` keeps; has it fail after `meanwhile`. */
function failedRestore(meanwhile = () => {}): void {
  const replaced = replacedOf(store, preview, staging);
  shop.core.change(({ store: { branchData } }) =>
    branchData.setSource({ branchId: preview, sourceId: main, replaced }),
  );
  const wanted = store.branchData.sourceOf(preview);
  meanwhile();
  shop.core.change((context, at) => wanted && undoRestore(context, wanted, at));
}

it("what a branch was is its child after a restore that failed, and begins at no point of it", () => {
  change(staging, {
    details: { ...branch(staging).details, parent_lsn: "0/1", parent_timestamp: "2026-01-01T00:00:00Z" },
  });
  failedRestore();
  expect(branch(staging)).toMatchObject({ parentId: preview });
  const { parent_lsn, parent_timestamp } = branch(staging).details;
  expect([parent_lsn, parent_timestamp, branch(preview).parentId]).toEqual([undefined, undefined, main]);
  expect(store.branchData.sourceOf(preview)).toBeUndefined();
});

it("a restore that failed undoes none that followed it", () => {
  const [later, before] = [{ branchId: preview, sourceId: staging }, branch(preview)];
  failedRestore(() => shop.core.change(({ store: { branchData } }) => branchData.setSource(later)));
  expect([store.branchData.sourceOf(preview)?.sourceId, branch(staging).parentId]).toEqual([staging, main]);
  expect(branch(preview)).toEqual(before);
});

it("what a branch was is no child of it where the branch ends by now", () => {
  failedRestore(() => change(preview, { expiresAt: shop.time.now() + 3_600_000 }));
  expect([branch(staging).parentId, branch(preview).expiresAt]).toEqual([main, shop.time.now() + 3_600_000]);
});

it("what a branch was is no child of it where the branch itself comes from that by now", () => {
  failedRestore(() => {
    change(staging, { parentId: undefined });
    change(main, { parentId: staging });
  });
  expect([preview, main, staging].map((id) => branch(id).parentId)).toEqual([main, staging, undefined]);
});

it("a branch whose restore failed has no parent where its parent ends by now", () => {
  change(preview, { parentId: staging });
  failedRestore(() => change(staging, { expiresAt: shop.time.now() + 3_600_000 }));
  expect(branch(preview).parentId).toBeUndefined();
});

it("what a restore replaces is what the one before has replaced, where that was not made yet", () => {
  const first = replacedOf(store, preview, staging);
  const wanted = { branchId: preview, sourceId: main, replaced: first };
  shop.core.change(({ store: { branchData } }) => branchData.setSource(wanted));
  change(preview, { parentId: staging });
  expect(replacedOf(store, preview)).toBe(first);
});
