import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it, test } from "vitest";
import { z } from "zod";
import { startCommand } from "../../support/processes.ts";
import { main, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

const rig = usePostgresRig();
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

test.each([
  ["CREATE TABLE t (x text); COPY t FROM PROGRAM 'id'", /permission denied to COPY to or from an external program/],
  ["CREATE TABLE u (x text); COPY u FROM '/etc/passwd'", /permission denied to COPY from a file/],
  ["COPY (SELECT 1) TO '/tmp/out'", /permission denied to COPY to a file/],
  ["SELECT pg_read_file('/etc/passwd')", /permission denied for function pg_read_file/],
  ["SELECT lo_import('/etc/passwd')", /permission denied for function lo_import/],
  ["SELECT pg_ls_dir('/')", /permission denied for function pg_ls_dir/],
  ["ALTER SYSTEM SET archive_command = 'id'", /permission denied to set parameter/],
  ["SET session_preload_libraries = 'x'", /permission denied to set parameter/],
  ["LOAD '/lib/x86_64-linux-gnu/libc.so.6'", /access to library .* is not allowed/],
  ["CREATE FUNCTION f() RETURNS int LANGUAGE c AS 'libc', 'system'", /permission denied for language c/],
  ["CREATE EXTENSION dblink", /permission denied to create extension/],
  ["CREATE EXTENSION file_fdw", /permission denied to create extension/],
  ["ALTER ROLE app SUPERUSER", /permission denied to alter role/],
  ["CREATE ROLE boss SUPERUSER", /permission denied to create role/],
  ["CREATE ROLE boss; GRANT pg_execute_server_program TO boss", /permission denied to grant role/],
  ["GRANT cloud_admin TO app", /permission denied to grant role/],
  ["SET ROLE cloud_admin", /permission denied to set role/],
  ["ALTER ROLE cloud_admin PASSWORD 'x'", /permission denied to alter role/],
  ["UPDATE pg_authid SET rolsuper = true", /permission denied for table pg_authid/],
  ["ALTER ROLE neon_superuser LOGIN PASSWORD 'x'", /permission denied to alter role/],
  ["CREATE ROLE boss; GRANT neon_superuser TO boss", /permission denied to grant role/],
  [
    "CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1 password=x sslkey=base/pgsql_tmp/x:y' PUBLICATION p",
    /permission denied to create subscription/,
  ],
  ["CREATE ROLE boss; GRANT pg_write_server_files TO boss", /permission denied to grant role/],
  ["SELECT pg_reload_conf()", /permission denied for function pg_reload_conf/],
  ["CREATE EXTENSION postgres_fdw", /permission denied to create extension/],
  ["CREATE FOREIGN DATA WRAPPER w", /permission denied to create foreign-data wrapper/],
  ["CREATE LANGUAGE mine HANDLER plpgsql_call_handler", /permission denied|[Mm]ust be superuser/],
  ["CREATE TYPE t; CREATE TYPE t (INPUT = int4in, OUTPUT = int4out)", /must be superuser to create a base type/],
  ["CREATE ACCESS METHOD m TYPE TABLE HANDLER heap_tableam_handler", /permission denied to create access method/],
  ["CREATE TEXT SEARCH TEMPLATE t (LEXIZE = dsimple_lexize)", /must be superuser to create text search templates/],
  [
    "CREATE TEXT SEARCH DICTIONARY d (TEMPLATE = simple, STOPWORDS = '../../../../etc/passwd')",
    /invalid text search configuration file name/,
  ],
  ["CREATE TABLESPACE t LOCATION '/tmp'", /permission denied to create tablespace/],
  ["CREATE PUBLICATION p FOR ALL TABLES", /must be superuser to create FOR ALL TABLES publication/],
  ["SELECT pg_replication_origin_create('o')", /permission denied for function pg_replication_origin_create/],
  ["SELECT lo_export(lo_create(0), '/tmp/out')", /permission denied for function lo_export/],
  ["SELECT pg_stat_file('/etc/passwd')", /permission denied for function pg_stat_file/],
  ["INSERT INTO pg_auth_members SELECT 1, 10, oid, 10, true FROM pg_roles", /permission denied for table/],
  ["DELETE FROM pg_largeobject_metadata", /permission denied for table pg_largeobject_metadata/],
  ["BEGIN; LOCK TABLE pg_authid", /permission denied for table pg_authid/],
  [
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'cloud_admin'",
    /permission denied to terminate process/,
  ],
  ["SET SESSION AUTHORIZATION cloud_admin", /permission denied to set session authorization/],
  ["SET session_replication_role = replica", /permission denied to set parameter/],
  ["ALTER FUNCTION pg_catalog.lower(text) SECURITY DEFINER", /must be owner of function/],
  ["ALTER EXTENSION plpgsql ADD FUNCTION pg_catalog.lower(text)", /must be owner of extension plpgsql/],
  ["CREATE FUNCTION f() RETURNS int LANGUAGE internal AS 'pg_reload_conf'", /permission denied for language internal/],
])("refuses a client: %s", async (sql, message) => {
  await expect(rig.query(uri, sql)).rejects.toThrow(message);
});

it.each(["role=cloud_admin", "session_authorization=cloud_admin", "session_preload_libraries=x", "event_triggers=off"])(
  "refuses a client that connects with the setting %s",
  async (setting) => {
    await expect(rig.query(`${uri}%20-c%20${encodeURIComponent(setting)}`, "SELECT 1")).rejects.toThrow(
      /permission denied to set (role|session authorization|parameter)/,
    );
  },
);

it("lets nobody log in as the servers' own role", async () => {
  await expect(rig.query(uri.replace("//app:", "//cloud_admin:"), "SELECT 1")).rejects.toThrow(
    /not permitted to log in/,
  );
});

it("lets no client take the server's log", async () => {
  const client = rig.client(uri, { replication: "true" });
  await expect(client).rejects.toThrow(/no pg_hba.conf entry for replication connection/);
  for (const command of ["BASE_BACKUP", "START_REPLICATION PHYSICAL 0/0", "START_REPLICATION SLOT logical 0/0"]) {
    const within = await rig.client(uri, { replication: "database" });
    await expect(within.query(command)).rejects.toThrow(/a client replicates logically/);
  }
});

it("keeps the password of the servers' own role out of all that clients may see of a replica", async () => {
  const made = await rig.call("POST", `/projects/${project}/endpoints`, {
    endpoint: { branch_id: main, type: "read_only" },
  });
  const { id } = z.looseObject({ id: z.string() }).parse(made.body["endpoint"]);
  await rig.settled();
  const replica = await rig.uri({ endpoint: id });
  const [row] = await rig.query(replica, "SHOW primary_conninfo");
  expect(row?.["primary_conninfo"]).toMatch(/^host=\S+ port=\d+ user=cloud_admin application_name=standby /);
  const settings = await rig.query(replica, "SELECT name FROM pg_settings WHERE setting LIKE '%password=%'");
  expect(settings).toEqual([]);
  expect(existsSync(`${rig.data}.postgres/standby.pgpass`)).toBe(false);
});

it("keeps sockets and data in directories of the servers' user alone", () => {
  for (const name of ["", "branches", "s"]) {
    const path = join(`${rig.data}.postgres`, name);
    expect([name, (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o700) & 0o077]).toEqual([name, 0]);
  }
});

it("refuses a second service on the same data", async () => {
  const flags = ["--port", "0", "--postgres", "--postgres-port", "0", "--data", rig.data];
  const second = await startCommand("second", ["service", ...flags, "--postgres-user", "nobody"]);
  expect((await second.end).status).toBe(1);
  expect(second.tail()).toMatch(/cannot use .* as the service's store/);
  expect(await rig.query(uri, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});
