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
