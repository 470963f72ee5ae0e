import { expect, it } from "vitest";
import { guardDatabases } from "../../../../src/service/postgres/catalog/guards.ts";

/** Guards a server's databases, by name, and answers which were guarded, in order, and what was thrown. */
async function guarded(databases: string[], act: (database: string) => void) {
  const guards: string[] = [];
  const connect = (database: string) => {
    act(database);
    const query = (sql: string) => {
      if (sql.includes("CREATE DOMAIN pg_catalog.output_plugin")) guards.push(database);
      const rows = sql.startsWith("SELECT datname, oid") ? databases.map((name, oid) => [name, `${oid}`]) : [];
      return Promise.resolve(rows);
    };
    return Promise.resolve({ query, [Symbol.dispose]() {} });
  };
  const thrown = await guardDatabases({ client: await connect("postgres"), connect }).catch((error: unknown) => error);
  return { guards, thrown };
}

it("a database that cannot be entered keeps no other one unguarded, and is said at the end", async () => {
  const broken = new Error("could not open file");
  const found = await guarded(["first", "broken", "last"], (database) => {
    if (database === "broken") throw broken;
  });
  expect(found).toEqual({ guards: ["first", "last"], thrown: broken });
});

it("a database that a client copies while others are guarded is guarded too", async () => {
  const databases = ["first", "last"];
  const found = await guarded(databases, (database) => {
    if (database === "last" && databases.length === 2) databases.push("copy");
  });
  expect(found).toEqual({ guards: ["first", "last", "copy"], thrown: undefined });
});
