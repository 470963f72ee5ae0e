import { beforeAll, expect, it } from "vitest";
import { main, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

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
  // Tried again with the next change.
  expect(deleted).toMatchObject({ status: "failed" });
  await expect(rig.query(holder, "SELECT 1")).rejects.toThrow(refused);
  await held.end();
  await rig.change("POST", roles, { role: { name: "other" } });
  expect(await rig.query(uri, "SELECT FROM pg_roles WHERE rolname = 'holder'")).toEqual([]);
});
