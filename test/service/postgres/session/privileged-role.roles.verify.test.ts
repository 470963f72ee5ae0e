import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { main, primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

describe("a role of the API", () => {
  it("a role of the API has the rights of the public service's, as a member of neon_superuser", async () => {
    const attributes = "rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolcanlogin";
    const rows = await rig.query(
      uri,
      `SELECT rolname, ${attributes} FROM pg_roles WHERE rolname IN ('app', 'neon_superuser') ORDER BY rolname`,
    );
    const rights = {
      rolsuper: false,
      rolcreatedb: true,
      rolcreaterole: true,
      rolreplication: true,
      rolbypassrls: true,
    };
    expect(rows).toEqual([
      { rolname: "app", ...rights, rolcanlogin: true },
      { rolname: "neon_superuser", ...rights, rolcanlogin: false },
    ]);
    const granted = await rig.query(
      uri,
      `SELECT b.rolname AS role, m.admin_option AS admin FROM pg_auth_members m JOIN pg_roles b ON b.oid = m.roleid
       WHERE m.member = 'neon_superuser'::regrole ORDER BY 1`,
    );
    expect(granted).toEqual([
      { role: "pg_monitor", admin: true },
      { role: "pg_read_all_data", admin: false },
      { role: "pg_signal_backend", admin: true },
      { role: "pg_write_all_data", admin: false },
    ]);
  });

  it("reads and writes the tables of others, past their row security; one that SQL made does not", async () => {
    await rig.change("POST", `/projects/${project}/branches/${main}/roles`, { role: { name: "second" } });
    await rig.query(
      uri,
      "CREATE TABLE secret (x int)",
      "ALTER TABLE secret ENABLE ROW LEVEL SECURITY",
      "INSERT INTO secret VALUES (1)",
      "CREATE ROLE plain LOGIN PASSWORD 'plain'",
      "GRANT pg_monitor TO plain",
    );
    const second = await rig.uri({ role: "second" });
    expect(await rig.query(second, "INSERT INTO secret VALUES (2)", "SELECT x FROM secret ORDER BY x")).toEqual([
      { x: 1 },
      { x: 2 },
    ]);
    expect(await rig.query(second, "CREATE SCHEMA own", "CREATE EXTENSION citext", "SELECT 1 AS one")).toEqual([
      { one: 1 },
    ]);
    const plain = uri.replace(/app:[^@]*@/, "plain:plain@");
    await expect(rig.query(plain, "SELECT x FROM secret")).rejects.toThrow(/permission denied for table secret/);
  });
});

describe("enable_logical_replication", () => {
  const slot = "SELECT pg_create_logical_replication_slot('feed', 'pgoutput')";
  const set = (enabled: boolean) => ({ project: { settings: { enable_logical_replication: enabled } } });

  it("makes the log logical, on running computes too, and is not taken back", async () => {
    await expect(rig.query(uri, slot)).rejects.toThrow(/logical decoding requires "?wal_level"? >= "?logical"?/);
    const operations = await rig.change("PATCH", `/projects/${project}`, set(true));
    expect(operations).toMatchObject([{ action: "apply_config", status: "finished", endpoint_id: primary }]);
    await rig.query(uri, "CREATE TABLE fed (x int)", "CREATE PUBLICATION news FOR TABLE fed", slot);
    const [changes] = await rig.query(
      uri,
      "INSERT INTO fed VALUES (1)",
      `SELECT count(*)::int AS n FROM pg_logical_slot_peek_binary_changes('feed', NULL, NULL, 'proto_version', '1', 'publication_names', 'news')`,
    );
    expect(changes?.["n"]).toBeGreaterThanOrEqual(3);
    const refused = await rig.call("PATCH", `/projects/${project}`, set(false));
    expect([refused.status, refused.body["message"]]).toEqual([422, expect.stringContaining("cannot be disabled")]);
  });

  it("data with a logical slot is read while its compute sleeps", async () => {
    await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
    const { status, body } = await rig.call("GET", `/projects/${project}/branches/${main}/schema?db_name=stock`);
    expect([status, body["message"]]).toEqual([200, undefined]);
    expect((await rig.endpoint()).current_state).toBe("idle");
  });

  it.each([
    "SELECT pg_create_logical_replication_slot('load', '/lib/x86_64-linux-gnu/libm.so.6')",
    "SELECT pg_create_logical_replication_slot('load', plugin => '$libdir/../../libm', temporary => true)",
    "SELECT pg_copy_logical_replication_slot('feed', 'load', false, 'base/1/1259')",
  ])("loads no file that a client names, in any database: %s", async (sql) => {
    await rig.query(uri, "DROP DATABASE IF EXISTS later", "CREATE DATABASE later");
    for (const name of ["stock", "later", "postgres", "template1"]) {
      const there = uri.replace("/stock?", `/${name}?`);
      await expect(rig.query(there, sql)).rejects.toThrow(/an output plugin is named without a path/);
      const twice = [
        "SELECT pg_copy_logical_replication_slot('feed', 'twice')",
        "SELECT pg_drop_replication_slot('twice')",
      ];
      if (name === "stock") await rig.query(there, ...twice);
    }
  });

  it.each([
    `CREATE_REPLICATION_SLOT load LOGICAL "/lib/x86_64-linux-gnu/libm.so.6"`,
    `\n create_replication_slot "load" TEMPORARY LOGICAL "base/1/1259"`,
  ])("loads no file that a client names in a command: %j", async (command) => {
    const client = await rig.client(uri, { replication: "database" });
    await expect(client.query(command)).rejects.toThrow(/is a name without a path/);
    const fine = await rig.client(uri, { replication: "database" });
    const made = await fine.query("CREATE_REPLICATION_SLOT fine TEMPORARY LOGICAL pgoutput");
    expect(made.rows).toMatchObject([{ slot_name: "fine", output_plugin: "pgoutput" }]);
    await fine.end();
  });

  it("lets a client stream, and keeps its slot from branches", async () => {
    const client = await rig.client(uri, { replication: "database" });
    expect((await client.query("IDENTIFY_SYSTEM")).rows).toMatchObject([{ dbname: "stock" }]);
    await client.end();
    await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
    const made = await rig.call("POST", `/projects/${project}/branches`, {
      branch: { name: "copy" },
      endpoints: [{ type: "read_write" }],
    });
    await rig.settled();
    const [{ id } = { id: "" }] = z.array(z.looseObject({ id: z.string() })).parse(made.body["endpoints"]);
    const there = await rig.uri({ endpoint: id });
    expect(await rig.query(there, "SELECT x FROM fed")).toEqual([{ x: 1 }]);
    expect(await rig.query(there, "SELECT slot_name FROM pg_replication_slots")).toEqual([]);
    expect(await rig.query(uri, "SELECT slot_name FROM pg_replication_slots")).toEqual([{ slot_name: "feed" }]);
  });
});
