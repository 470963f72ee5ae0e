import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { CreatedBranch, main, project, serverSocket } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const branch = `/projects/${project}/branches/${main}`;
let uri: string;
let then: string;

/** As after a drop that a client has broken off while it waited for other sessions. */
async function leaveHalfDropped(name: string): Promise<void> {
  const { host, port } = serverSocket(rig.data);
  const client = await rig.client("", { host, port, user: "cloud_admin", database: "postgres" });
  await client.query(`UPDATE pg_database SET datconnlimit = -2 WHERE datname = '${name}'`);
  await client.end();
}

beforeAll(async () => {
  uri = await rig.uri();
  await rig.query(uri, "CREATE DATABASE halved");
  await shown();
  await leaveHalfDropped("halved");
  await rig.query(uri, "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('bolt')");
  await rig.query(uri, "SELECT 1");
  then = new Date().toISOString();
  await rig.query(uri, "INSERT INTO item VALUES ('nut')");
});

async function shown(): Promise<string> {
  return JSON.stringify((await rig.call("GET", `${branch}/databases`)).body);
}

/** The databases of such a name, as the server has them. */
async function databasesOf(name: string, at = uri): Promise<unknown[]> {
  return (await rig.query(at, `SELECT datname FROM pg_database WHERE datname = '${name}'`)).map(
    (row) => row["datname"],
  );
}

describe("what is left of a database whose drop was broken off", () => {
  it.each([
    ["of a time", () => ({ parent_timestamp: then }), 1],
    ["with the schema alone", () => ({ init_source: "schema-only" }), 0],
    ["of the present", () => ({}), 2],
  ])("a branch %s starts though its parent has one", async (_, beginning, rows) => {
    const wanted = { branch: { parent_id: main, ...beginning() }, endpoints: [{ type: "read_write" }] };
    const { endpoints } = CreatedBranch.parse((await rig.call("POST", `/projects/${project}/branches`, wanted)).body);
    await rig.settled();
    const there = await rig.uri({ endpoint: endpoints[0]?.id ?? "" });
    expect(await rig.query(there, "SELECT FROM item")).toHaveLength(rows);
  });

  it("a database that is half dropped is none to the API, and is dropped with the next change", async () => {
    expect(await databasesOf("halved")).toEqual(["halved"]);
    await expect(rig.query(uri.replace("/stock?", "/halved?"), "SELECT 1")).rejects.toThrow("invalid database");
    expect(await shown()).not.toContain("halved");
    const [made] = await rig.change("POST", `${branch}/roles`, { role: { name: "next" } });
    expect(made).toMatchObject({ status: "finished" });
    expect(await databasesOf("halved")).toEqual([]);
  });

  it("a database that SQL makes, and whose drop is broken off, keeps no role and not its name", async () => {
    const maker = await rig.newRole("maker");
    await rig.query(uri, "CREATE DATABASE passing", "GRANT ALL ON DATABASE passing TO maker");
    await rig.query(maker.replace("/stock?", "/passing?"), "CREATE SCHEMA made");
    await leaveHalfDropped("passing");
    const database = { name: "passing", owner_name: "app" };
    const [made] = await rig.change("POST", `${branch}/databases`, { database });
    expect(made).toMatchObject({ status: "finished" });
    await rig.query(uri.replace("/stock?", "/passing?"), "SELECT 1");
    const [deleted] = await rig.change("DELETE", `${branch}/roles/maker`);
    expect(deleted).toMatchObject({ status: "finished" });
    expect(await rig.query(uri, "SELECT FROM pg_roles WHERE rolname = 'maker'")).toEqual([]);
  });

  it("a database that a client is dropping is left to it, and its sessions go on", async () => {
    await rig.query(uri, "CREATE DATABASE leaving");
    const [silent, dropping] = [await rig.client(uri), await rig.client(uri)];
    const { rows } = await silent.query("SELECT pg_backend_pid() AS pid");
    const pid = z.number().parse(rows[0]?.["pid"]);
    // As one that computes without a pause: a drop waits for each session.
    process.kill(pid, "SIGSTOP");
    const dropped = dropping.query("DROP DATABASE leaving");
    try {
      await expect.poll(shown).not.toContain("leaving");
      const [made] = await rig.change("POST", `${branch}/roles`, { role: { name: "beside" } });
      expect(made).toMatchObject({ status: "finished" });
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await dropped;
    expect(await databasesOf("leaving")).toEqual([]);
    await Promise.all([silent.end(), dropping.end()]);
  });
});
