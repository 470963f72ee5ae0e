import { expect, it, test } from "vitest";
import { insideDatabase } from "../../../../src/service/postgres/session/inside-database.ts";

const nothing = () => Promise.resolve([]);
const failing = () => Promise.reject(new Error("the server has no room"));

/** Acts in a database; answers the statements about that, and how often the session there ended. */
async function entered({ isOpen = "t", ruled = "f" }, connects: boolean, act: () => Promise<unknown>) {
  const statements: string[] = [];
  let ended = 0;
  const query = (sql: string) => {
    if (sql.startsWith("SELECT datname")) return Promise.resolve([[isOpen, "7", ruled]]);
    statements.push(sql);
    return Promise.resolve([]);
  };
  const end = () => {
    ended += 1;
  };
  const client = { query, [Symbol.dispose]: () => {} };
  const connect = () => (connects ? Promise.resolve({ query: nothing, [Symbol.dispose]: end }) : failing());
  const outcome = await insideDatabase({ client, connect }, "stock", act).then(
    () => "done",
    ({ message }: Error) => message,
  );
  return { statements, ended, outcome };
}

const opened = [
  'ALTER DATABASE "stock" ALLOW_CONNECTIONS true CONNECTION LIMIT 0',
  'ALTER DATABASE "stock" ALLOW_CONNECTIONS false CONNECTION LIMIT 7',
];

test.each([
  ["acted in", true, nothing, { ended: 1, outcome: "done" }],
  ["not entered", false, nothing, { ended: 0, outcome: "the server has no room" }],
  ["entered, and what is to be done there fails", true, failing, { ended: 1, outcome: "the server has no room" }],
])("a closed database that is %s is closed again, with the limit that it had", async (_what, connects, act, result) => {
  expect(await entered({ isOpen: "f" }, connects, act)).toEqual({ statements: opened, ...result });
});

it("a database that is open stays as it is, and the session in it ends", async () => {
  expect(await entered({}, true, nothing)).toEqual({ statements: [], ended: 1, outcome: "done" });
});

test.each([
  ["acted in", true, "done"],
  ["not entered", false, "the server has no room"],
])(
  "a database with rules that is %s goes without them for superusers alone meanwhile",
  async (_what, connects, outcome) => {
    const { statements, ...result } = await entered({ ruled: "t" }, connects, nothing);
    const columns = "datallowconn = true, datconnlimit";
    const place = "to_jsonb(pg_database) ->> 'daticurules' IS NOT NULL AND datname = E'stock'";
    expect(statements.filter((sql) => !/^SELECT (pg_terminate|CASE)/.test(sql))).toEqual([
      `UPDATE pg_database SET datlocprovider = 'c', ${columns} = 0 WHERE ${place}`,
      `UPDATE pg_database SET datlocprovider = 'i', ${columns} = 7 WHERE ${place}`,
    ]);
    expect(statements[1]).toContain("pg_terminate_backend(pid) FROM pg_stat_activity");
    expect(statements[1]).toContain("datname = E'stock'");
    expect(result.outcome).toBe(outcome);
  },
);
