import { readFileSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { SqlClient } from "../../../../src/service/postgres/session/sql-client.ts";
import { streamOf } from "../node-postgres.ts";
import { main, primary, project, serverSocket } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const roles = `/projects/${project}/branches/${main}/roles`;
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

it("a database that clients have closed lets none in while the service is in it, and is closed as before after that", async () => {
  const leaver = await rig.newRole("leaver");
  await rig.query(uri, "CREATE DATABASE shut", "GRANT ALL ON DATABASE shut TO leaver");
  await rig.query(leaver.replace("/stock?", "/shut?"), "CREATE SCHEMA hers CREATE TABLE one (x int)");
  const own = await rig.client(uri);
  const pooled = (await rig.uri({ pooled: true })).replace("/stock?", "/shut?");
  const [held, other] = [await rig.client(pooled), await rig.client(pooled)];
  // The service waits in the database for this lock, and ends each session that has it: one per second or less.
  await held.query("BEGIN");
  await held.query("SELECT FROM hers.one");
  const queue = await Promise.all(Array.from({ length: 20 }, () => rig.client(uri.replace("/stock?", "/shut?"))));
  for (const one of queue) await one.query("BEGIN");
  for (const one of queue) one.query("LOCK hers.one").catch(() => {});
  await own.query("ALTER DATABASE shut ALLOW_CONNECTIONS false CONNECTION LIMIT 7");
  const deleted = rig.change("DELETE", `${roles}/leaver`);
  const inside = async (condition: string) =>
    (await own.query(`SELECT FROM pg_stat_activity WHERE datname = 'shut' AND ${condition}`)).rows.length;
  await expect.poll(() => inside("usename = 'cloud_admin' AND wait_event_type = 'Lock'")).toBe(1);
  // PgBouncer has let this client in before, and needs another session for it. It tries again after 15 s.
  other.query("SELECT 1 AS one").catch(() => {});
  const log = `${rig.data}.postgres/logs/${primary}-pooler.log`;
  await expect.poll(() => readFileSync(log, "utf8")).toContain('too many connections for database "shut"');
  expect(await inside("usename = 'app' AND state = 'idle'")).toBe(0);
  expect(await deleted).toMatchObject([{ status: "finished" }]);
  const shown = "SELECT datallowconn, datconnlimit FROM pg_database WHERE datname = 'shut'";
  expect((await own.query(shown)).rows).toEqual([{ datallowconn: false, datconnlimit: 7 }]);
  await own.end();
  for (const one of [held, other, ...queue]) streamOf(one).destroy();
});

it("a role is deleted, and a branch with the schema alone made, beside a database whose ICU rules let no session open", async () => {
  const rules = "garbage &&& [";
  const leaver = await rig.newRole("leaver");
  await rig.query(uri, "CREATE DATABASE ruled", "GRANT ALL ON DATABASE ruled TO leaver");
  await rig.query(leaver.replace("/stock?", "/ruled?"), "CREATE SCHEMA hers CREATE TABLE one (x int)");
  // As those of a client that take an hour, with which the role has made something once.
  using server = await SqlClient.connect({
    ...serverSocket(rig.data),
    user: "cloud_admin",
    password: "",
    database: "postgres",
  });
  await server.query(`UPDATE pg_database SET datlocprovider = 'i', datlocale = 'en', daticurules = '${rules}'
    WHERE datname = 'ruled'`);
  const all = "SELECT datlocprovider, daticurules, datallowconn, datconnlimit FROM pg_database WHERE datname = 'ruled'";
  const deleted = await rig.change("DELETE", `${roles}/leaver`);
  expect(deleted).toMatchObject([{ status: "finished" }]);
  expect(await server.query(all)).toEqual([["i", rules, "t", "-1"]]);
  const branch = { parent_id: main, init_source: "schema-only" };
  const made = await rig.change("POST", `/projects/${project}/branches`, {
    branch,
    endpoints: [{ type: "read_write" }],
  });
  expect(made.map(({ status }) => status)).toEqual(["finished", "finished"]);
  const copy = {
    ...serverSocket(rig.data, made[0]?.branch_id),
    user: "cloud_admin",
    password: "",
    database: "postgres",
  };
  using copied = await SqlClient.connect(copy);
  expect(await copied.query(all)).toEqual([["i", rules, "t", "-1"]]);
});

it("a database with rules that a service left without them has them again, and no session in it goes on meanwhile", async () => {
  const goer = await rig.newRole("goer");
  const create = "CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' ICU_RULES '&a < g'";
  await rig.query(uri, create, "GRANT ALL ON DATABASE sorted TO goer");
  await rig.query(goer.replace("/stock?", "/sorted?"), "CREATE SCHEMA hers");
  // Its workers, as of an index that it makes, would order texts without the rules.
  const held = await rig.client(uri.replace("/stock?", "/sorted?"));
  using server = await SqlClient.connect({
    ...serverSocket(rig.data),
    user: "cloud_admin",
    password: "",
    database: "postgres",
  });
  await server.query("UPDATE pg_database SET datlocprovider = 'c', datconnlimit = 0 WHERE datname = 'sorted'");
  expect(await rig.change("DELETE", `${roles}/goer`)).toMatchObject([{ status: "finished" }]);
  const shown = "SELECT datlocprovider, datallowconn, datconnlimit FROM pg_database WHERE datname = 'sorted'";
  expect(await server.query(shown)).toEqual([["i", "t", "-1"]]);
  await expect(held.query("SELECT")).rejects.toThrow("not queryable");
});
