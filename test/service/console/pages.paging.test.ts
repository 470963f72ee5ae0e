import { expect, it } from "vitest";
import { pageLinks, pageNumber, partOf } from "../../../src/service/console/pages/paging.ts";

it.each([
  [1, 0, undefined],
  [1, 1, ["1 row"]],
  [1, 50, ["50 rows"]],
  [1, 51, ["Page 1 of 2, 51 rows", "next ?page=2"]],
  [2, 51, ["prev ?page=1", "Page 2 of 2, 51 rows"]],
  [2, 101, ["prev ?page=1", "Page 2 of 3, 101 rows", "next ?page=3"]],
  [3, 101, ["prev ?page=2", "Page 3 of 3, 101 rows"]],
])(
  "page %i of a list of %i rows has the number of rows, and links to the pages beside it: %j",
  (page, total, parts) => {
    const html = pageLinks({ path: "", query: {} }, { page, total }, ["row", "rows"])?.toString();
    const found = [...(html ?? "").matchAll(/<a rel="(\w+)" href="([^"]+)">|((?:Page \d+ of \d+, )?\d+ rows?)/g)];
    expect(html && found.map(([, rel, to, place]) => place ?? `${rel} ${to}`)).toEqual(parts);
  },
);

it("the links to other pages keep search, state, order and the pages of other lists, and nothing else of the query", () => {
  const query = {
    search: "a&b",
    state: "idle",
    sort: "name",
    page: "2",
    "page-shop": "3",
    "page-ana": "",
    token: "x",
    pages: "9",
  };
  const links = (list?: { name: string; title: string }) => {
    const html = pageLinks({ path: "", query }, { page: 2, total: 150 }, ["key", "keys"], list)?.toString() ?? "";
    return [...html.matchAll(/(?:href|aria-label)="([^"]+)"/g)].map(([, value]) => value);
  };
  const kept = "?search=a%26b&amp;state=idle&amp;sort=name&amp;";
  expect(links()).toEqual(["Pages", `${kept}page=1&amp;page-shop=3`, `${kept}page=3&amp;page-shop=3`]);
  const of = { name: "page-shop", title: "the shop's keys" };
  expect(links(of)).toEqual([
    "Pages of the shop&#39;s keys",
    `${kept}page=2&amp;page-shop=1`,
    `${kept}page=2&amp;page-shop=3`,
  ]);
});

it("a search is at most 256 characters long, without the spaces around it", () => {
  expect(partOf({ query: { search: `  ${"a".repeat(300)}` } })).toEqual({
    search: "a".repeat(256),
    state: "",
    sort: "",
    page: 1,
  });
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
