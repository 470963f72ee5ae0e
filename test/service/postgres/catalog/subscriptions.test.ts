import { expect, it } from "vitest";
import { guardSubscriptions } from "../../../../src/service/postgres/catalog/subscriptions.ts";

/** The statements that a server of a version is asked, where databases have these subscriptions. */
async function statements(version: string, ...databases: string[]): Promise<string[]> {
  const asked: string[] = [];
  const connect = (database: string) =>
    Promise.resolve({
      query: (sql: string) => {
        asked.push(`${database}: ${sql}`);
        if (sql.startsWith("SHOW")) return Promise.resolve([[version]]);
        return Promise.resolve(sql.includes("FROM pg_database") ? databases.map((name) => [name, "f", "-1"]) : []);
      },
      [Symbol.dispose]() {},
    });
  await guardSubscriptions({ client: await connect("postgres"), connect });
  return asked;
}

it.each([
  ["159999", false],
  ["160000", true],
  ["180004", true],
])("a server of version %s is asked whether its clients may have subscriptions: %s", async (version, isAsked) => {
  const right = expect.stringMatching(
    /^postgres: DO .*sslkeylogfile.* GRANT pg_create_subscription TO neon_superuser/s,
  );
  expect((await statements(version)).slice(1, -1)).toEqual(isAsked ? [right] : []);
});

it("subscriptions of databases are dropped where clients may have none, once that is known", async () => {
  const asked = await statements("170010", "one", "two");
  const [, , which, ...drops] = asked;
  expect(which).toMatch(/subdbid FROM pg_subscription\) AND NOT EXISTS .*'pg_create_subscription'/s);
  expect(drops.map((sql) => sql.split(":")[0])).toEqual(["one", "two"]);
});
