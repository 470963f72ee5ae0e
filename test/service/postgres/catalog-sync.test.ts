import { expect, it, test } from "vitest";
import { type BranchCatalog, currentRights, syncCatalog } from "../../../src/service/postgres/catalog-sync.ts";

const roles = [{ name: "app", login: true, passwordSource: "first" }];
const databases = [{ id: 1, name: "stock", ownerName: "app" }];
const wanted: BranchCatalog = { rights: currentRights, roles, databases };

/** Brings the catalog into a server that has these roles; answers the statements that change something. */
async function changes(applied: BranchCatalog, existing: readonly string[], version = "170010"): Promise<string[]> {
  const statements: string[] = [];
  const answers = (sql: string) => {
    if (sql.includes("server_version_num")) return [[version]];
    if (sql.includes("pg_roles")) return existing.map((name) => [name]);
    if (sql.includes("datallowconn"))
      return [
        ["stock", "f"],
        ["template0", "t"],
      ];
    if (sql.includes("pg_database")) return [["stock"]];
    statements.push(sql);
    return [];
  };
  const client = { query: (sql: string) => Promise.resolve(answers(sql)), close() {} };
  await syncCatalog({
    applied,
    wanted,
    passwordOf: () => "x",
    connect: () => Promise.resolve(client),
  });
  return statements;
}

it("gives the roles of an earlier version of the service the rights of today's, and leaves their passwords", async () => {
  expect(await changes({ rights: 1, roles, databases }, ["app"])).toEqual([
    expect.stringContaining("CREATE DOMAIN pg_catalog.output_plugin"),
    'ALTER DATABASE "template0" ALLOW_CONNECTIONS true',
    expect.stringContaining("CREATE DOMAIN pg_catalog.output_plugin"),
    'ALTER DATABASE "template0" ALLOW_CONNECTIONS false',
    "CREATE ROLE neon_superuser NOLOGIN NOSUPERUSER INHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS",
    "GRANT pg_read_all_data, pg_write_all_data TO neon_superuser",
    "GRANT pg_monitor, pg_signal_backend TO neon_superuser WITH ADMIN OPTION",
    "GRANT pg_create_subscription TO neon_superuser",
    "ALTER ROLE cloud_admin PASSWORD NULL",
    'ALTER ROLE "app" NOSUPERUSER INHERIT CREATEDB CREATEROLE REPLICATION BYPASSRLS',
    'GRANT neon_superuser TO "app"',
    'ALTER DATABASE "stock" OWNER TO "app"',
    'GRANT ALL PRIVILEGES ON DATABASE "stock" TO neon_superuser',
  ]);
});

it("takes the superuser's password away from data of a version that gave it one", async () => {
  const statements = await changes({ rights: 3, roles, databases }, ["app", "neon_superuser"]);
  expect(statements).toContain("ALTER ROLE cloud_admin PASSWORD NULL");
});

it("changes no rights of roles that have today's", async () => {
  const current = { rights: currentRights, roles, databases };
  expect(await changes(current, ["app", "neon_superuser"])).toEqual(['ALTER DATABASE "stock" OWNER TO "app"']);
});

test.each([
  ["150019", /NOCREATEROLE/, false],
  ["160011", / CREATEROLE/, true],
  ["180004", / CREATEROLE/, false],
])("at version %s a client gets no right that leads to the server's files", async (version, attributes, subscribes) => {
  const statements = await changes({ rights: 1, roles, databases }, ["app"], version);
  expect(statements.filter((sql) => attributes.test(sql))).toHaveLength(2);
  expect(statements.includes("GRANT pg_create_subscription TO neon_superuser")).toBe(subscribes);
});
