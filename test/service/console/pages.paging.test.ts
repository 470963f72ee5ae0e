import { expect, it } from "vitest";
import { pageLinks, pageNumber } from "../../../src/service/console/pages/paging.ts";

it.each([
  [1, 0, undefined],
  [1, 50, undefined],
  [2, 50, undefined],
  [1, 51, ["Page 1 of 2", "next ?page=2"]],
  [2, 51, ["prev ?page=1", "Page 2 of 2"]],
  [2, 101, ["prev ?page=1", "Page 2 of 3", "next ?page=3"]],
  [3, 101, ["prev ?page=2", "Page 3 of 3"]],
  [4, 101, ["prev ?page=3", "Page 4 of 3"]],
])("page %i of a list of %i rows has links to the pages beside it alone: %j", (page, rows, parts) => {
  const html = pageLinks(page, rows)?.toString();
  const found = [...(html ?? "").matchAll(/<a rel="(\w+)" href="([^"]+)">|(Page \d+ of \d+)/g)];
  expect(html && found.map(([, rel, to, place]) => place ?? `${rel} ${to}`)).toEqual(parts);
});

it.each([
  [{}, 1],
  [{ page: "3" }, 3],
  [{ page: "0" }, 1],
  [{ page: "-2" }, 1],
  [{ page: "2x" }, 1],
  [{ page: "999999" }, 999_999],
  [{ page: "1000000" }, 1],
])("the query %j is for page %i", (query: Record<string, string>, page) => {
  expect(pageNumber(query)).toBe(page);
});
