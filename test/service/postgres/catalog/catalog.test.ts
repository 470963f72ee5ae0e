import { expect, it } from "vitest";
import type { HistoryPoint } from "../../../../src/service/domain/history-point.ts";
import { PostgresCatalog } from "../../../../src/service/postgres/catalog/catalog.ts";
import { main, preview, Shop, staging } from "../../support/shop.ts";

it("the data of a branch is to be a copy of its source's, at the point that is named, without rows where asked, and what it was is known", () => {
  const { store, ids, clock } = new Shop().core.context;
  const none = () => Promise.resolve("");
  const catalog = new PostgresCatalog({ store, ids, clock }, { read: none, compare: none });
  const point: HistoryPoint = { kind: "time", at: 5 };
  const kept = "br-kept-1";
  const copied = (branchId: string) => {
    const { sourceId, point: at, schemaOnly } = store.branchData.sourceOf(branchId) ?? {};
    return [sourceId, at, schemaOnly];
  };
  catalog.replace(main, preview, 7, point, kept);
  expect(store.branchData.sourceOf(preview)?.replaced).toContain(`"keptId":"${kept}"`);
  expect(copied(preview)).toEqual([main, JSON.stringify(point), false]);
  catalog.replace(main, preview, 7);
  expect(copied(preview)).toEqual([main, JSON.stringify({ kind: "call", at: clock.now() }), false]);
  catalog.rewind(staging, main, { kind: "lsn", lsn: "0/10" });
  expect(copied(main)).toEqual([staging, '{"kind":"lsn","lsn":"0/10"}', false]);
  catalog.copyToNew(main, staging, 7, { point, schemaOnly: true });
  expect(copied(staging)).toEqual([main, JSON.stringify(point), true]);
});

it("schemas are read and compared until the client that asked for them is gone", async () => {
  const { store, ids, clock } = new Shop().core.context;
  const { signal } = new AbortController();
  const text = (gone?: AbortSignal) =>
    Promise.resolve(gone === signal ? "until it leaves" : "whether it leaves or not");
  const catalog = new PostgresCatalog(
    { store, ids, clock },
    { read: (_, __, gone) => text(gone), compare: (_, gone) => text(gone) },
  );
  const compared = { name: "neondb", before: "", after: "", owner: "acc-ana" };
  const texts = [catalog.schema(main, "neondb", signal), catalog.compared(compared, signal)];
  expect(await Promise.all(texts)).toEqual(["until it leaves", "until it leaves"]);
});
