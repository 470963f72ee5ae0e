import { expect, it } from "vitest";
import { inherited } from "../../../../src/service/postgres/catalog/inherited-catalog.ts";

const rows = (...names: string[]) => names.map((name, index) => ({ id: index + 10, name }));

it("a copy knows which database is which, also where the API has changed them since they were brought", () => {
  const brought = [
    { id: 1, name: "same", ownerName: "app" },
    { id: 2, name: "before", ownerName: "app" },
    { id: 3, name: "again", ownerName: "app" },
    { id: 4, name: "deleted", ownerName: "app" },
    { id: 0, name: "unknown", ownerName: "app" },
  ];
  const ofSource = [
    { id: 1, name: "same" },
    { id: 2, name: "after" },
    { id: 7, name: "again" },
    { id: 8, name: "unknown" },
  ];
  const own = rows("same", "after", "again", "unknown");
  const { rights, roles, databases } = inherited({ rights: 3, roles: [], databases: brought }, ofSource, own);
  expect([rights, roles]).toEqual([3, []]);
  expect(databases.map(({ id, name }) => [name, id])).toEqual([
    ["same", 10],
    ["before", 11],
    ["again", -1],
    ["deleted", 0],
    ["unknown", 0],
  ]);
});

it("a copy that keeps what its source had before a reset takes nothing for deleted, as the rows are of what comes after", () => {
  const brought = { rights: 3, roles: [], databases: [{ id: 1, name: "stock", ownerName: "app" }] };
  expect(inherited(brought, undefined, rows("stock")).databases).toEqual([{ id: 0, name: "stock", ownerName: "app" }]);
});

it("a copy of a branch in which SQL has made thousands of databases looks at each a few times, and not once for each other", () => {
  let looks = 0;
  const many = (first: number) =>
    Array.from({ length: 1000 }, (_, index) => ({
      id: first + index,
      ownerName: "app",
      get name() {
        looks += 1;
        return `database ${index}`;
      },
    }));
  const { databases } = inherited({ rights: 3, roles: [], databases: many(1) }, many(1), many(5001));
  expect(databases.map(({ id }) => id)).toEqual(many(5001).map(({ id }) => id));
  expect(looks).toBeLessThan(20_000);
});
