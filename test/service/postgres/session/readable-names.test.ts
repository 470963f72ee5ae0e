import { expect, test } from "vitest";
import { readableRows } from "../../../../src/service/postgres/session/readable-names.ts";

test.each([
  [
    "no name",
    [
      ["stock", "app"],
      ["other", null],
    ],
    0,
  ],
  [
    "the first name",
    [
      ["st\u{fffd}ck", "app"],
      ["other", "app"],
    ],
    1,
  ],
  [
    "the last owner",
    [
      ["stock", "app"],
      ["other", "\u{fffd}"],
    ],
    1,
  ],
])("rows in which %s is unreadable are read again once the names can be read", async (_which, rows, renamings) => {
  const asked: string[] = [];
  const query = (sql: string) => {
    asked.push(sql);
    return Promise.resolve(asked.length === 1 ? rows : [["readable", "app"]]);
  };
  const found = await readableRows({ query, [Symbol.dispose]: () => {} }, "SELECT names");
  expect(asked.filter((sql) => sql.startsWith("DO "))).toHaveLength(renamings);
  expect(found).toEqual(renamings === 0 ? rows : [["readable", "app"]]);
  expect(asked.at(-1)).toBe("SELECT names");
});
