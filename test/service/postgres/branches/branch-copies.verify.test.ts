import { readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { copyRunning } from "../../../../src/service/postgres/data/backup.ts";
import { SqlClient } from "../../../../src/service/postgres/session/sql-client.ts";
import { commandLines } from "../../../support/process-list.ts";
import { CreatedBranch, main, primary, project, serverSocket } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
  await rig.query(
    uri,
    "CREATE TABLE item (name text PRIMARY KEY, seen int DEFAULT 0)",
    "INSERT INTO item VALUES ('bolt')",
  );
});

const branches = `/projects/${project}/branches`;
const endpoints = `/projects/${project}/endpoints`;
/** Creates a branch with a primary; answers their ids when both are there. */
async function branchOf(parent: string, fields: object = {}): Promise<{ branch: string; endpoint: string }> {
  const body = { branch: { parent_id: parent, ...fields }, endpoints: [{ type: "read_write" }] };
  const reply = await rig.call("POST", branches, body);
  expect([reply.status, reply.body["message"]]).toEqual([201, undefined]);
  const { branch, endpoints: computes } = CreatedBranch.parse(reply.body);
  await rig.settled();
  return { branch: branch.id, endpoint: computes[0]?.id ?? "" };
}

async function names(endpoint: string): Promise<unknown[]> {
  const rows = await rig.query(await rig.uri({ endpoint }), "SELECT name FROM item ORDER BY name");
  return rows.map(({ name }) => name);
}

async function count(from: string): Promise<unknown> {
  return (await rig.query(from, "SELECT count(*)::int AS n FROM item"))[0]?.["n"];
}

it("copies a parent whose server runs and is being written to, and neither sees the other's changes", async () => {
  const writer = await rig.client(uri);
  const writing = new AbortController();
  const written = (async () => {
    for (let n = 0; !writing.signal.aborted; n += 1) await writer.query(`INSERT INTO item VALUES ('n${n}')`);
  })();
  await expect.poll(() => count(uri)).toBeGreaterThan(1);
  const { endpoint } = await branchOf(main);
  writing.abort();
  await written;
  await writer.end();
  const child = await rig.uri({ endpoint });
  expect(await count(child)).toBeGreaterThan(1);
  expect(await count(child)).toBeLessThan(Number(await count(uri)));
  await rig.query(child, "DELETE FROM item");
  expect(await count(uri)).toBeGreaterThan(1);
  await rig.query(uri, "DELETE FROM item WHERE name <> 'bolt'");
});

it("a copy shows the state at its call, also where a client empties the table before the copy is made", async () => {
  const body = { branch: { parent_id: main }, endpoints: [{ type: "read_write" }] };
  const reply = await rig.call("POST", branches, body);
  await rig.query(uri, "DELETE FROM item");
  const made = CreatedBranch.parse(reply.body);
  await rig.settled();
  expect([await names(made.endpoints[0]?.id ?? ""), await count(uri)]).toEqual([["bolt"], 0]);
  const restored = rig.change("POST", `${branches}/${made.branch.id}/restore`, { source_branch_id: main });
  await rig.query(uri, "INSERT INTO item VALUES ('bolt')");
  await restored;
  expect(await names(made.endpoints[0]?.id ?? "")).toEqual([]);
});

it("a server that completes more log meanwhile than it keeps is copied, and no slot stays behind", async () => {
  const places = `${rig.data}.postgres/branches`;
  const from = join(places, readdirSync(places).find((name) => name.startsWith(`${main}.`)) ?? "");
  const login = { socket: serverSocket(rig.data).socket, user: "cloud_admin", password: "", database: "stock" };
  const client = await SqlClient.connect(login);
  const query = async (sql: string) => {
    if (sql.includes("pg_backup_stop")) {
      for (let n = 0; n < 60; n += 1)
        await client.query("SELECT pg_logical_emit_message(true, 'a', 'b'); SELECT pg_switch_wal()");
      // As the service does once it has taken them.
      const marks = join(from, "pg_wal", "archive_status");
      for (const name of readdirSync(marks)) renameSync(join(marks, name), join(marks, name.replace(/ready$/, "done")));
      await client.query("CHECKPOINT");
    }
    return client.query(sql);
  };
  const copied = await copyRunning(from, join(rig.directory.path, "copied"), { query }, { owner: undefined });
  expect(copied.last > copied.first).toBe(true);
  client.close();
  await expect.poll(() => rig.query(uri, "SELECT slot_name FROM pg_replication_slots")).toEqual([]);
});

it("copies a parent that is suspended", async () => {
  await rig.change("POST", `${endpoints}/${primary}/suspend`);
  const { endpoint } = await branchOf(main);
  expect((await rig.endpoint()).current_state).toBe("idle");
  expect(await names(endpoint)).toEqual(["bolt"]);
});

it("copies the schema alone where that is asked for", async () => {
  const { endpoint } = await branchOf(main, { init_source: "schema-only" });
  expect(await names(endpoint)).toEqual([]);
});

it("gives a branch its parent's data again, and keeps what it had under another name", async () => {
  const { branch, endpoint } = await branchOf(main);
  await rig.query(await rig.uri({ endpoint }), "INSERT INTO item VALUES ('nut')");
  const restore = { source_branch_id: main, preserve_under_name: "before" };
  await rig.change("POST", `${branches}/${branch}/restore`, restore);
  expect(await names(endpoint)).toEqual(["bolt"]);
  const { body } = await rig.call("GET", `${branches}?search=before`);
  const [kept] = z.array(z.looseObject({ id: z.string() })).parse(body["branches"]);
  const made = { endpoint: { branch_id: kept?.id, type: "read_write" } };
  const [started] = await rig.change("POST", endpoints, made);
  expect(await names(started?.endpoint_id ?? "")).toEqual(["bolt", "nut"]);
});

it("gives an idle branch its parent's data as it is at the call, and not when a compute of it wakes", async () => {
  const { branch, endpoint } = await branchOf(main);
  await rig.query(await rig.uri({ endpoint }), "INSERT INTO item VALUES ('nut')");
  await rig.change("POST", `${endpoints}/${endpoint}/suspend`);
  const [replaced] = await rig.change("POST", `${branches}/${branch}/restore`, { source_branch_id: main });
  expect(replaced).toMatchObject({ action: "create_branch", status: "finished" });
  await rig.query(uri, "INSERT INTO item VALUES ('later')");
  expect((await rig.endpoint(endpoint)).current_state).toBe("idle");
  expect(await names(endpoint)).toEqual(["bolt"]);
  await rig.query(uri, "DELETE FROM item WHERE name = 'later'");
});

it("moves a compute to the data of another branch", async () => {
  const { branch, endpoint } = await branchOf(main);
  await rig.query(await rig.uri({ endpoint }), "INSERT INTO item VALUES ('washer')");
  await rig.change("DELETE", `${endpoints}/${endpoint}`);
  const moved = await branchOf(main);
  await rig.change("PATCH", `${endpoints}/${moved.endpoint}`, { endpoint: { branch_id: branch } });
  expect(await names(moved.endpoint)).toEqual(["bolt", "washer"]);
});

it("serves a replica from the primary's stream, and also while the primary sleeps", async () => {
  const [started] = await rig.change("POST", endpoints, { endpoint: { branch_id: main, type: "read_only" } });
  expect(started).toMatchObject({ action: "start_compute", status: "finished" });
  const replica = await rig.uri({ endpoint: started?.endpoint_id ?? "" });
  await rig.query(uri, "INSERT INTO item VALUES ('rivet')");
  await expect.poll(() => count(replica)).toBe(2);
  await expect(rig.query(replica, "DELETE FROM item")).rejects.toThrow(/read-only transaction/);
  await rig.change("POST", `${endpoints}/${primary}/suspend`);
  expect(await count(replica)).toBe(2);
  const servers = () => commandLines().filter((line) => line.includes(`/replicas/${started?.endpoint_id}`));
  expect(servers()).not.toEqual([]);
  await rig.change("POST", `${endpoints}/${started?.endpoint_id}/suspend`);
  expect(servers()).toEqual([]);
  expect(await count(replica)).toBe(2);
  expect((await rig.endpoint()).current_state).toBe("idle");
  await rig.query(uri, "INSERT INTO item VALUES ('screw')");
  await expect.poll(() => count(replica)).toBe(3);
});

it("lets a primary grow while a replica follows it", async () => {
  const larger = { endpoint: { autoscaling_limit_min_cu: 4, autoscaling_limit_max_cu: 4 } };
  const { body } = await rig.call("GET", `${branches}/${main}/endpoints`);
  const replica = z.array(z.looseObject({ id: z.string(), type: z.string() })).parse(body["endpoints"]);
  const id = replica.find(({ type }) => type === "read_only")?.id ?? "";
  await rig.query(await rig.uri({ endpoint: id }), "SELECT 1");
  const [applied] = await rig.change("PATCH", `${endpoints}/${primary}`, larger);
  expect(applied).toMatchObject({ status: "finished" });
  await rig.query(uri, "INSERT INTO item VALUES ('clamp')");
  await expect.poll(async () => count(await rig.uri({ endpoint: id }))).toBe(4);
});

it("lets a replica serve a branch whose primary never ran, with the roles and passwords of now", async () => {
  const reply = await rig.call("POST", branches, { branch: { parent_id: main }, endpoints: [{ type: "read_only" }] });
  const { branch, endpoints: computes } = CreatedBranch.parse(reply.body);
  const endpoint = computes[0]?.id ?? "";
  await rig.settled();
  const before = await rig.uri({ endpoint });
  expect(await count(before)).toBeGreaterThan(0);
  await rig.change("POST", `${endpoints}/${endpoint}/suspend`);
  await rig.change("POST", `${branches}/${branch.id}/roles/app/reset_password`);
  await expect(count(before)).rejects.toThrow(/password authentication failed/);
  expect(await count(await rig.uri({ endpoint }))).toBeGreaterThan(0);
});

it("starts a branch whose first start was broken off by the end of the service", async () => {
  const reply = await rig.call("POST", branches, { branch: { parent_id: main }, endpoints: [{ type: "read_write" }] });
  const endpoint = CreatedBranch.parse(reply.body).endpoints[0]?.id ?? "";
  const log = () => readdirSync(`${rig.data}.postgres/logs`).filter((name) => name === `${endpoint}.log`);
  const said = () => log().map((name) => readFileSync(`${rig.data}.postgres/logs/${name}`, "utf8"));
  await expect.poll(said, { interval: 1 }).toEqual([expect.stringContaining("database system was interrupted")]);
  await rig.kill();
  await rig.start();
  await rig.settled();
  expect(await count(await rig.uri({ endpoint }))).toBeGreaterThan(0);
  uri = await rig.uri();
});

it("removes the data of a branch that is deleted", async () => {
  const { branch } = await branchOf(main);
  const kept = () => readdirSync(`${rig.data}.postgres/branches`).filter((name) => name.startsWith(branch));
  expect(kept()).toHaveLength(1);
  await rig.change("DELETE", `${branches}/${branch}`);
  await expect.poll(kept).toEqual([]);
});
