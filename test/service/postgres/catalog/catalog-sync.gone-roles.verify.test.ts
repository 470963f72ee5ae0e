import { beforeAll, expect, it } from "vitest";
import { main, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const roles = `/projects/${project}/branches/${main}/roles`;
const refused = /password authentication failed/;
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

it("a role that the API deletes logs in no more, though what it owns is in a database that was closed", async () => {
  const reader = await rig.newRole("reader");
  await rig.query(uri, "CREATE DATABASE shut", "GRANT ALL ON DATABASE shut TO reader");
  await rig.query(reader.replace("/stock?", "/shut?"), "CREATE SCHEMA hers");
  await rig.query(uri, "ALTER DATABASE shut ALLOW_CONNECTIONS false");
  const [deleted] = await rig.change("DELETE", `${roles}/reader`);
  expect(deleted).toMatchObject({ status: "finished" });
  await expect(rig.query(reader, "SELECT 1")).rejects.toThrow(refused);
  const [shut] = await rig.query(uri, "SELECT datallowconn FROM pg_database WHERE datname = 'shut'");
  expect(shut).toEqual({ datallowconn: false });
});

it("a role that the API deletes logs in no more, though a session of another holds what it owns", async () => {
  const holder = await rig.newRole("holder");
  await rig.query(holder, "CREATE SCHEMA held CREATE TABLE one (x int)");
  const held = await rig.client(uri);
  await held.query("BEGIN");
  await held.query("SELECT FROM held.one");
  const [deleted] = await rig.change("DELETE", `${roles}/holder`);
  expect(deleted).toMatchObject({ status: "finished" });
  await expect(rig.query(holder, "SELECT 1")).rejects.toThrow(refused);
  await held.end().catch(() => {});
  expect(await rig.query(uri, "SELECT FROM pg_roles WHERE rolname = 'holder'")).toEqual([]);
});

it("a role that the API deletes is dropped from every database that has anything of it, and no other is entered", async () => {
  const owner = await rig.newRole("owner");
  await rig.query(
    uri,
    "CREATE DATABASE granted",
    "CREATE DATABASE untouched",
    "GRANT ALL ON DATABASE granted TO owner",
  );
  await rig.query(owner.replace("/stock?", "/granted?"), "CREATE SCHEMA hers", "SELECT lo_create(4711)");
  await rig.query(owner, "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC", "CREATE PUBLICATION hers");
  await rig.query(owner, "CREATE ROLE made", "GRANT made TO app WITH ADMIN OPTION");
  await rig.query(uri, "GRANT made TO PUBLIC").catch(() => {});
  const [deleted] = await rig.change("DELETE", `${roles}/owner`);
  expect(deleted).toMatchObject({ status: "finished" });
  expect(await rig.query(uri, "SELECT FROM pg_roles WHERE rolname = 'owner'")).toEqual([]);
  const [own] = await rig.query(uri, "SELECT pubowner::regrole::text AS owner FROM pg_publication");
  expect(own).toEqual({ owner: "app" });
  const entered =
    "SELECT datname::text FROM pg_stat_database WHERE sessions > 0 AND datname IN ('granted', 'untouched')";
  expect(await rig.query(uri, entered)).toEqual([{ datname: "granted" }]);
});
