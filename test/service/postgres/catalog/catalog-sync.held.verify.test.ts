import { beforeAll, describe, expect, it } from "vitest";
import { streamOf } from "../node-postgres.ts";
import { main, paths, primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const databases = `/projects/${project}/branches/${main}/databases`;
const roles = `/projects/${project}/branches/${main}/roles`;
const refused = /password authentication failed/;
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

const newDatabase = (name: string) => rig.change("POST", databases, { database: { name, owner_name: "app" } });

it("a client that reads nothing of a long result keeps no database that the API deletes, and nobody waiting", async () => {
  await newDatabase("gone");
  const client = await rig.client(uri);
  client.query("SELECT repeat('x', 1000) FROM generate_series(1, 1000000)").catch(() => {});
  streamOf(client).pause();
  const waits = "SELECT FROM pg_stat_activity WHERE wait_event = 'ClientWrite'";
  await expect.poll(() => rig.query(uri, waits)).toHaveLength(1);
  const [deleted] = await rig.change("DELETE", `${databases}/gone`);
  expect(deleted).toMatchObject({ status: "finished" });
  expect(await rig.query(uri, "SELECT FROM pg_database WHERE datname = 'gone'")).toEqual([]);
  streamOf(client).destroy();
});

it("a client that replicates from a database keeps none that the API deletes", async () => {
  await rig.change("PATCH", `/projects/${project}`, { project: { settings: { enable_logical_replication: true } } });
  await rig.change("POST", `/projects/${project}/endpoints/${primary}/restart`);
  await newDatabase("followed");
  const followed = uri.replace("/stock?", "/followed?");
  await rig.query(followed, "SELECT pg_create_logical_replication_slot('follower', 'test_decoding')");
  const client = await rig.client(followed, { replication: "database" });
  client.query("START_REPLICATION SLOT follower LOGICAL 0/0").catch(() => {});
  await expect.poll(() => rig.query(uri, "SELECT active FROM pg_replication_slots")).toEqual([{ active: true }]);
  const [deleted] = await rig.change("DELETE", `${databases}/followed`);
  expect(deleted).toMatchObject({ status: "finished" });
  await client.end().catch(() => {});
});

it("a role that the API deletes is dropped, though a role that SQL has made grants to it in loops", async () => {
  await rig.newRole("granted");
  await rig.query(
    uri,
    "CREATE ROLE granter LOGIN PASSWORD 'granter'",
    "CREATE SCHEMA hers",
    "GRANT CREATE, USAGE ON SCHEMA hers TO granter",
  );
  const granter = uri.replace(/app:[^@]*@/, "granter:granter@");
  await rig.query(granter, "CREATE TABLE hers.one (x int)", "CREATE TABLE hers.other (x int)");
  const loop = `DO $$ BEGIN LOOP
    GRANT SELECT ON hers.one TO granted; COMMIT; REVOKE SELECT ON hers.other FROM granted; COMMIT;
    GRANT SELECT ON hers.other TO granted; COMMIT; REVOKE SELECT ON hers.one FROM granted; COMMIT;
  END LOOP; END $$`;
  const client = await rig.client(granter);
  client.query(loop).catch(() => {});
  const [deleted] = await rig.change("DELETE", `${roles}/granted`);
  expect(deleted).toMatchObject({ status: "finished" });
  expect(await rig.query(uri, "SELECT FROM pg_roles WHERE rolname = 'granted'")).toEqual([]);
  await client.end().catch(() => {});
});

it("a worker of autovacuum that a function in an index keeps is ended, and the role of its table is dropped", async () => {
  const settings = { pg_settings: { autovacuum_naptime: "1s" } };
  await rig.change("PATCH", `/projects/${project}/endpoints/${primary}`, { endpoint: { settings } });
  await rig.change("POST", `/projects/${project}/endpoints/${primary}/restart`);
  const victim = await rig.newRole("victim");
  await rig.query(uri, "GRANT CREATE ON SCHEMA public TO victim");
  const worker = "SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND wait_event = 'PgSleep'";
  await rig.query(
    victim,
    "CREATE TABLE kept (x int)",
    `CREATE FUNCTION stay(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT backend_type FROM pg_stat_activity WHERE pid = pg_backend_pid()) = 'autovacuum worker' THEN LOOP
        BEGIN PERFORM pg_sleep(1000); EXCEPTION WHEN query_canceled THEN NULL; END;
      END LOOP; END IF; RETURN $1; END $$`,
    "CREATE INDEX ON kept (public.stay(x))",
    "INSERT INTO kept SELECT generate_series(1, 500)",
  );
  await expect.poll(() => rig.query(uri, worker), { timeout: 60_000 }).toHaveLength(1);
  const honest = await rig.client(uri);
  const [deleted] = await rig.change("DELETE", `${roles}/victim`);
  expect(deleted).toMatchObject({ status: "finished" });
  expect(await rig.query(uri, "SELECT FROM pg_roles WHERE rolname = 'victim'")).toEqual([]);
  expect((await honest.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await honest.end();
});

describe("a role whose password is stolen", () => {
  const reset = async (role: string) => {
    const [done] = await rig.change("POST", `${roles}/${role}/reset_password`);
    expect(done).toMatchObject({ status: "finished" });
    expect(await rig.query(await rig.uri({ role }), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  };

  it("a role has the password to which the API resets it, though its session computes without a pause", async () => {
    const before = await rig.newRole("busy");
    const held = await rig.client(before);
    await held.query("BEGIN");
    await held.query("ALTER ROLE CURRENT_USER PASSWORD 'stolen'");
    held.query(`SELECT one ?# other FROM (${paths}) p`).catch(() => {});
    const computes = "SELECT FROM pg_stat_activity WHERE usename = 'busy' AND query ~ '[?]#'";
    await expect.poll(() => rig.query(uri, computes)).toHaveLength(1);
    await reset("busy");
    await expect(rig.query(before, "SELECT 1")).rejects.toThrow(refused);
  });

  it("a role has the password to which the API resets it, though its sessions change it all the time", async () => {
    const before = await rig.newRole("restless");
    // Two that change it at one moment: one of them is refused.
    const change = "BEGIN ALTER ROLE CURRENT_USER PASSWORD 'stolen'; EXCEPTION WHEN OTHERS THEN NULL; END; COMMIT";
    const sessions = await Promise.all(Array.from({ length: 20 }, () => rig.client(before)));
    for (const held of sessions) held.query(`DO $$ BEGIN LOOP ${change}; END LOOP; END $$`).catch(() => {});
    // Each turn of the loop makes another verifier, so a login meets two of them, and neither password is sure to work.
    await expect.poll(() => rig.query(before, "SELECT 1").catch(String)).toMatch(refused);
    await reset("restless");
    const stolen = before.replace(/:npg_[^@]*@/, ":stolen@");
    await expect(rig.query(stolen, "SELECT 1")).rejects.toThrow(refused);
  });
});
