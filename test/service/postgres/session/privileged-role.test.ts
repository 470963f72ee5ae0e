import { expect, it } from "vitest";
import { privilegedAttributes, putPrivilegedRole } from "../../../../src/service/postgres/session/privileged-role.ts";

/** The statements that make the privileged role in a server of a version, or change the one that is there. */
async function statements(version: number, exists: boolean): Promise<string[]> {
  const asked: string[] = [];
  const query = (sql: string) => {
    asked.push(sql);
    return Promise.resolve([]);
  };
  await putPrivilegedRole({ query, [Symbol.dispose]: () => {} }, version, exists);
  return asked;
}

it.each([
  [150_009, "NOCREATEROLE", false],
  [159_999, "NOCREATEROLE", false],
  [160_000, "CREATEROLE", true],
  [180_000, "CREATEROLE", true],
])(
  "the privileged role of version %i has %s; the right to create subscriptions is taken: %s",
  async (version, roles, isTaken) => {
    expect(privilegedAttributes(version)).toBe(`INHERIT CREATEDB ${roles} REPLICATION BYPASSRLS`);
    for (const exists of [false, true]) {
      expect(await statements(version, exists)).toEqual([
        `${exists ? "ALTER" : "CREATE"} ROLE neon_superuser NOLOGIN NOSUPERUSER INHERIT CREATEDB ${roles} REPLICATION BYPASSRLS`,
        "GRANT pg_read_all_data, pg_write_all_data TO neon_superuser",
        "GRANT pg_monitor, pg_signal_backend TO neon_superuser WITH ADMIN OPTION",
        ...(isTaken ? ["REVOKE pg_create_subscription FROM neon_superuser"] : []),
      ]);
    }
  },
);
