import { expect, it } from "vitest";
import { rollBackPreparedThat } from "../../../../src/service/postgres/session/prepared.ts";

it("prepared transactions of a database are rolled back where a condition holds of them, and no others", async () => {
  const asked: string[] = [];
  const session = (of: string, answer: (sql: string) => string[][]) => ({
    query: (sql: string) => {
      asked.push(`${of}: ${sql}`);
      return Promise.resolve(answer(sql));
    },
    [Symbol.dispose]: () => {},
  });
  const client = session("postgres", (sql) =>
    sql.startsWith("SELECT datname, oid") ? [["stock", "5"]] : [["t", "-1", "f"]],
  );
  const blocking = (sql: string) => (sql.endsWith("AND transaction = '7'") ? [["ROLLBACK PREPARED 'blocks'"]] : []);
  const connect = (database: string) => Promise.resolve(session(database, blocking));
  await rollBackPreparedThat({ client, connect }, "transaction = '7'");
  expect(asked[0]).toContain("IN (SELECT database FROM pg_prepared_xacts WHERE transaction = '7')");
  expect(asked.filter((sql) => sql.startsWith("stock: ")).slice(1)).toEqual(["stock: ROLLBACK PREPARED 'blocks'"]);
});
