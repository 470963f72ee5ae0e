import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { commandLines } from "../../support/process-list.ts";
import { runProgram } from "../../support/run-program.ts";
import { CreatedBranch, main, primary, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

const rig = usePostgresRig();
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

const endpoints = `/projects/${project}/endpoints`;

/** The servers of this rig that run, by their command lines. */
function servers(): string[] {
  return commandLines().filter((line) => line.includes(rig.data) && / -D /.test(line));
}

it("names the proxy in connection URIs, and the compute in their options", () => {
  expect(uri).toBe(uri.replace(/@.*$/, `@${rig.address}/stock?options=endpoint%3D${primary}`));
});

it("wakes an idle compute for the first client", async () => {
  expect((await rig.endpoint()).current_state).toBe("idle");
  expect(await rig.query(uri, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect((await rig.endpoint()).current_state).toBe("active");
  expect((await rig.operations())[0]).toMatchObject({ action: "start_compute", status: "finished" });
});

it("refuses a wrong password, also where the compute allows access without one", async () => {
  expect(await rig.endpoint()).toMatchObject({ passwordless_access: true });
  const wrong = uri.replace(/:npg_[^@]*@/, ":wrong@");
  await expect(rig.query(wrong, "SELECT 1")).rejects.toThrow(/password authentication failed/);
});

it("gives the server the connections and buffers of its size, and again those of another", async () => {
  const show = async () => Object.values((await rig.query(uri, "SHOW max_connections"))[0] ?? {});
  expect(await show()).toEqual(["450"]);
  const larger = { endpoint: { autoscaling_limit_min_cu: 2, autoscaling_limit_max_cu: 2 } };
  const [applied] = await rig.change("PATCH", `${endpoints}/${primary}`, larger);
  expect(applied).toMatchObject({ action: "apply_config", status: "finished" });
  expect(await show()).toEqual(["901"]);
});

it("keeps rows over suspension, restart and the service's end", async () => {
  await rig.query(uri, "CREATE TABLE kept (what text)", "INSERT INTO kept VALUES ('first')");
  await rig.change("POST", `${endpoints}/${primary}/suspend`);
  expect(servers()).toEqual([]);
  await rig.query(uri, "INSERT INTO kept VALUES ('after suspension')");
  await rig.change("POST", `${endpoints}/${primary}/restart`);
  await rig.query(uri, "INSERT INTO kept VALUES ('after restart')");
  await rig.stop();
  expect(servers()).toEqual([]);
  await rig.start();
  uri = await rig.uri();
  expect(await rig.query(uri, "SELECT what FROM kept")).toHaveLength(3);
});

it("leaves no server when the service is killed, and loses no committed row", async () => {
  const client = await rig.client(uri);
  await client.query("INSERT INTO kept VALUES ('before the kill')");
  expect(servers().length).toBeGreaterThan(0);
  await rig.kill();
  await rig.start();
  uri = await rig.uri();
  expect(await rig.query(uri, "SELECT what FROM kept")).toHaveLength(4);
  await rig.stop();
  expect(servers()).toEqual([]);
  await rig.start();
  uri = await rig.uri();
});

it("ends connections at a restart with Postgres's own error", async () => {
  const client = await rig.client(uri);
  const ended = new Promise<Error>((resolve) => client.on("error", resolve));
  await rig.change("POST", `${endpoints}/${primary}/restart`);
  expect((await ended).message).toMatch(/terminating connection due to administrator command/);
});

it("lets nobody into a disabled compute, and everybody again when it is enabled", async () => {
  await rig.change("PATCH", `${endpoints}/${primary}`, { endpoint: { disabled: true } });
  await expect(rig.query(uri, "SELECT 1")).rejects.toThrow(/compute ep-main is disabled/);
  expect(servers()).toEqual([]);
  await rig.change("PATCH", `${endpoints}/${primary}`, { endpoint: { disabled: false } });
  expect(await rig.query(uri, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("refuses settings that a compute may not have, and values that Postgres refuses, at the PATCH", async () => {
  const patch = (pg_settings: object) =>
    rig.call("PATCH", `${endpoints}/${primary}`, { endpoint: { settings: { pg_settings } } });
  for (const name of ["archive_command", "shared_preload_libraries", "listen_addresses", "no_such_setting"]) {
    const { status, body } = await patch({ [name]: "x" });
    expect([status, body["message"]]).toEqual([400, expect.stringContaining(`${name} is not a setting`)]);
  }
  for (const settings of [{ work_mem: "much" }, { TimeZone: "nowhere" }, { max_locks_per_transaction: "2147483647" }]) {
    const { status, body } = await patch(settings);
    const refusal = `invalid value for parameter "${Object.keys(settings).join()}"`;
    expect([status, body["message"]]).toEqual([400, expect.stringContaining(refusal)]);
  }
});

it("starts with the greatest settings of each kind that are accepted together", async () => {
  const greatest = { max_locks_per_transaction: "1024" };
  const more = {
    track_activity_query_size: "64kB",
    autovacuum_max_workers: "64",
    min_wal_size: "2",
    max_wal_size: "2",
  };
  const settings = { pg_settings: { ...greatest, ...more } };
  const [operation] = await rig.change("PATCH", `${endpoints}/${primary}`, { endpoint: { settings } });
  expect(operation).toMatchObject({ status: "finished" });
  const [restarted] = await rig.change("POST", `${endpoints}/${primary}/restart`);
  expect(restarted).toMatchObject({ status: "finished" });
  expect(await rig.query(uri, "SHOW max_locks_per_transaction")).toEqual([{ max_locks_per_transaction: "1024" }]);
  await rig.change("PATCH", `${endpoints}/${primary}`, { endpoint: { settings: { pg_settings: {} } } });
  await rig.change("POST", `${endpoints}/${primary}/restart`);
});

it("starts on prepared transactions that outlive their setting, also in a copy and a replica", async () => {
  const settings = (pg_settings: object) =>
    rig.change("PATCH", `${endpoints}/${primary}`, { endpoint: { settings: { pg_settings } } });
  await settings({ max_prepared_transactions: "5" });
  await rig.change("POST", `${endpoints}/${primary}/restart`);
  await rig.query(uri, "CREATE TABLE IF NOT EXISTS kept (x int)");
  await rig.query(uri, "BEGIN", "INSERT INTO kept VALUES (1)", "PREPARE TRANSACTION 'left'");
  await settings({});
  const made = await rig.call("POST", `/projects/${project}/branches`, { endpoints: [{ type: "read_write" }] });
  const {
    endpoints: [copy],
  } = CreatedBranch.parse(made.body);
  await rig.settled();
  const prepared = "SELECT gid FROM pg_prepared_xacts";
  expect(await rig.query(await rig.uri({ endpoint: copy?.id ?? "" }), prepared)).toEqual([{ gid: "left" }]);
  const replica = await rig.call("POST", endpoints, { endpoint: { branch_id: main, type: "read_only" } });
  const { id } = z.looseObject({ id: z.string() }).parse(replica.body["endpoint"]);
  await rig.settled();
  expect(await rig.query(await rig.uri({ endpoint: id }), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  const [restarted] = await rig.change("POST", `${endpoints}/${primary}/restart`);
  expect(restarted).toMatchObject({ status: "finished" });
  expect(await rig.query(uri, "ROLLBACK PREPARED 'left'", prepared)).toEqual([]);
  await rig.change("DELETE", `${endpoints}/${id}`);
  await rig.change("DELETE", `${endpoints}/${copy?.id}`);
});

it("a replica has as many locks as its primary has ever had, while it runs and when it starts", async () => {
  const made = await rig.call("POST", endpoints, { endpoint: { branch_id: main, type: "read_only" } });
  const { id } = z.looseObject({ id: z.string() }).parse(made.body["endpoint"]);
  await rig.settled();
  const replica = await rig.uri({ endpoint: id });
  await rig.query(replica, "SELECT 1");
  const restarted = async (compute: string, pg_settings?: object) => {
    if (pg_settings) await rig.change("PATCH", `${endpoints}/${compute}`, { endpoint: { settings: { pg_settings } } });
    const [operation] = await rig.change("POST", `${endpoints}/${compute}/restart`);
    expect(operation).toMatchObject({ status: "finished" });
  };
  const follows = async (table: string) => {
    await rig.query(uri, `CREATE TABLE ${table} (x int)`);
    const found = `SELECT to_regclass('${table}')::text AS name`;
    await expect.poll(() => rig.query(replica, found)).toEqual([{ name: table }]);
  };
  await restarted(primary, { max_locks_per_transaction: "256" });
  await follows("followed_more");
  await restarted(primary, {});
  await follows("followed_less");
  await restarted(id);
  await follows("followed_again");
  await rig.change("DELETE", `${endpoints}/${id}`);
});

it("applies settings to a running server without an end to its connections", async () => {
  const client = await rig.client(uri);
  const settings = { pg_settings: { work_mem: "7MB" } };
  await rig.change("PATCH", `${endpoints}/${primary}`, { endpoint: { settings } });
  expect((await client.query("SHOW work_mem")).rows).toEqual([{ work_mem: "7MB" }]);
  await client.end();
});

it("brings roles and databases into the server, and takes them away again", async () => {
  const branch = `/projects/${project}/branches/${main}`;
  await rig.change("POST", `${branch}/roles`, { role: { name: "reader" } });
  await rig.change("POST", `${branch}/databases`, { database: { name: "notes", owner_name: "reader" } });
  const notes = await rig.uri({ database: "notes", role: "reader" });
  await rig.query(notes, "CREATE TABLE note (text text)");
  const { body } = await rig.call("POST", `${branch}/roles/reader/reset_password`);
  expect(body).toMatchObject({ role: { name: "reader" } });
  await rig.settled();
  await expect(rig.query(notes, "SELECT 1")).rejects.toThrow(/password authentication failed/);
  await rig.query(await rig.uri({ database: "notes", role: "reader" }), "TABLE note");
  await rig.change("PATCH", `${branch}/databases/notes`, { database: { name: "memos", owner_name: "app" } });
  await rig.query(await rig.uri({ database: "memos" }), "TABLE pg_tables");
  await rig.change("DELETE", `${branch}/roles/reader`);
  await rig.change("DELETE", `${branch}/databases/memos`);
  const names = await rig.query(uri, "SELECT datname FROM pg_database UNION SELECT rolname FROM pg_roles");
  expect(JSON.stringify(names)).not.toMatch(/reader|memos|notes/);
});

it("stops the server of a compute that is deleted", async () => {
  await rig.query(uri, "SELECT 1");
  await rig.change("DELETE", `${endpoints}/${primary}`);
  await expect(rig.query(uri, "SELECT 1")).rejects.toThrow(/there is no compute ep-main/);
  await expect.poll(servers).toEqual([]);
  const [started] = await rig.change("POST", endpoints, { endpoint: { branch_id: main, type: "read_write" } });
  expect(started).toMatchObject({ action: "start_compute", status: "finished" });
  const again = await rig.uri({ endpoint: started?.endpoint_id ?? "" });
  expect(await rig.query(again, "SELECT what FROM kept")).toHaveLength(4);
});

it("answers psql", async () => {
  const endpoint = (await rig.operations())[0]?.endpoint_id ?? "";
  const { stdout, stderr } = await runProgram("psql", [
    await rig.uri({ endpoint }),
    "-Atc",
    "SELECT count(*) FROM kept",
  ]);
  expect([stdout, stderr]).toEqual(["4\n", ""]);
});
