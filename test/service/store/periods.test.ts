import { beforeEach, expect, it } from "vitest";
import type { Store } from "../../../src/service/store/store.ts";
import { primary, project, Shop } from "../support/shop.ts";

let store: Store;
beforeEach(() => {
  ({ store } = new Shop().core.context);
});

it("the usage of a period is the sum of its parts, and the largest number seen at one time", () => {
  const { quarters } = store;
  quarters.add(primary, { index: 7, activeMs: 10, computeMs: 20, peak: 3 });
  quarters.add(primary, { index: 7, activeMs: 1, computeMs: 2, peak: 1, wakes: 1 });
  quarters.add(primary, { index: 7, peak: 5, wakes: 1 });
  expect(quarters.since(primary, 0)).toMatchObject([{ index: 7, activeMs: 11, computeMs: 22, peak: 5, wakes: 2 }]);
});

it("periods in order have what is stored and what is not stored yet, and are empty where neither is", () => {
  const { usageHours } = store;
  for (const index of [1, 2, 4]) usageHours.add(project, { index, activeMs: index, computeMs: 1, peak: 2 });
  const parts = [
    { index: 1, activeMs: 100 },
    { index: 4, activeMs: 100, peak: 3 },
    { index: 5, activeMs: 100 },
  ];
  expect(usageHours.upTo(project, 4, 3, parts).map(({ index, activeMs, peak }) => [index, activeMs, peak])).toEqual([
    [2, 2, 2],
    [3, 0, 0],
    [4, 104, 3],
  ]);
});

it("a table without a column for an amount takes a part that has it", () => {
  const { days } = store;
  for (const activeMs of [1, 2]) days.add(primary, { index: 3, activeMs, computeMs: 10 });
  expect(days.since(primary, 0)).toMatchObject([{ index: 3, activeMs: 0, computeMs: 20 }]);
});

it.each([
  ["usageHours", project, 168],
  ["quarters", primary, 96],
  ["days", primary, 8],
] as const)(
  "the newest periods of %s are kept, each for the time that is shown and no longer",
  (table, owner, kept) => {
    const periods = store[table];
    for (let index = 1; index <= kept + 2; index += 1) periods.add(owner, { index, computeMs: 1 });
    expect(periods.since(owner, 0).map(({ index }) => index)).toEqual(Array.from({ length: kept }, (_, at) => at + 3));
  },
);
