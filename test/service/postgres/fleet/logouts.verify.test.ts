import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { PgClient } from "../node-postgres.ts";
import { main, paths, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const roles = `/projects/${project}/branches/${main}/roles`;
/** The end of a session, as its client sees it. */
const ended = /terminat|closed|not queryable|ECONNRESET/i;
let replica: string;
let own: PgClient;
beforeAll(async () => {
  const [created] = await rig.change("POST", `/projects/${project}/endpoints`, {
    endpoint: { branch_id: main, type: "read_only" },
  });
  replica = z.string().parse(created?.endpoint_id);
  own = await rig.client(await rig.uri());
});

/** A role of the API with sessions of every kind: each is to answer, or not. */
async function withSessions(role: string): Promise<{ uri: string; sessions: PgClient[]; statement: Promise<unknown> }> {
  const uri = await rig.newRole(role);
  await rig.query(await rig.uri(), `GRANT CREATE ON SCHEMA public TO PUBLIC`);
  // The replica is told of the role after the API.
  const atReplica = await rig.uri({ endpoint: replica });
  const known = `SELECT FROM pg_roles WHERE rolname = '${role}'`;
  await expect.poll(() => rig.query(atReplica, known)).toHaveLength(1);
  const at = async (more: object) => rig.client(await rig.uri({ role, ...more }));
  const [direct, open, pooled, openPooled, reading] = [
    await at({}),
    await at({}),
    await at({ pooled: true }),
    await at({ pooled: true }),
    await at({ endpoint: replica }),
  ];
  await direct.query("LISTEN word");
  await open.query("BEGIN");
  await open.query(`CREATE TABLE public.of_${role} (x int)`);
  await pooled.query("SELECT 1");
  await openPooled.query("BEGIN");
  await reading.query("BEGIN");
  await reading.query("SELECT FROM pg_class");
  // A statement of the driver for serverless functions, which runs meanwhile.
  const statement = fetch(`http://${rig.serviceAddress}/sql`, {
    method: "POST",
    headers: { "neon-connection-string": uri },
    body: JSON.stringify({ query: "SELECT pg_sleep(300)", params: [] }),
  }).then((answer) => answer.json());
  const sleeps = "SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(300)%' AND pid <> pg_backend_pid()";
  while ((await own.query(sleeps)).rows.length === 0);
  return { uri, sessions: [direct, open, pooled, openPooled, reading], statement };
}

async function expectEnded({ sessions, statement }: Awaited<ReturnType<typeof withSessions>>): Promise<void> {
  for (const [index, session] of sessions.entries()) {
    await expect(session.query("SELECT 1"), `session ${index}`).rejects.toThrow(ended);
    await session.end().catch(() => {});
  }
  expect(await statement).toMatchObject({ message: expect.stringMatching(ended) });
}

describe("a session of a client", () => {
  it("a session ends once the API resets a password on its branch, wherever it is, and stays gone", async () => {
    const thief = await withSessions("thief");
    const others = await rig.client(await rig.uri({ pooled: true }));
    await others.query("SELECT 1");
    const [reset] = await rig.change("POST", `${roles}/thief/reset_password`);
    expect(reset).toMatchObject({ status: "finished" });
    // The pooler has the new password from now on, for whoever was let in before too.
    await rig.query(await rig.uri({ role: "thief", pooled: true }), "SELECT 1");
    await expectEnded(thief);
    await expect(own.query("SELECT 1")).rejects.toThrow(ended);
    await expect(others.query("SELECT 1")).rejects.toThrow(ended);
    await expect(rig.query(thief.uri, "SELECT 1")).rejects.toThrow(/password authentication failed/);
    own = await rig.client(await rig.uri());
  });

  it("a session ends once the API deletes its role, and those of other roles stay", async () => {
    const leaver = await withSessions("leaver");
    const others = await rig.client(await rig.uri({ pooled: true }));
    const reading = await rig.client(await rig.uri({ endpoint: replica }));
    await others.query("SELECT 1");
    const [deleted] = await rig.change("DELETE", `${roles}/leaver`);
    expect(deleted).toMatchObject({ status: "finished" });
    await rig.newRole("leaver");
    await rig.query(await rig.uri({ role: "leaver", pooled: true }), "SELECT 1");
    await expectEnded(leaver);
    for (const one of [own, others, reading]) expect((await one.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await others.end();
    await reading.end();
  });

  it("a session ends that holds a replica up and computes without a pause, and its password is refused there", async () => {
    const thief = await rig.newRole("replicator");
    await rig.query(thief, "CREATE SCHEMA replicator", `CREATE TABLE replicator.bait AS ${paths}`);
    const atReplica = await rig.uri({ endpoint: replica, role: "replicator" });
    const known = "SELECT FROM pg_class WHERE relname = 'bait'";
    await expect.poll(() => rig.query(atReplica, known).catch(() => [])).toHaveLength(1);
    const held = await rig.client(atReplica);
    await held.query("BEGIN");
    held.query("SELECT one ?# other FROM replicator.bait").catch(() => {});
    const computes = "SELECT FROM pg_stat_activity WHERE usename = 'replicator' AND query ~ '[?]#'";
    await expect.poll(() => rig.query(atReplica, computes)).toHaveLength(1);
    // Its lock keeps the replica from what comes next, the new password among it.
    await rig.query(thief, "TRUNCATE replicator.bait");
    const [reset] = await rig.change("POST", `${roles}/replicator/reset_password`);
    expect(reset).toMatchObject({ status: "finished" });
    await expect(rig.query(atReplica, "SELECT 1")).rejects.toThrow(/password authentication failed/);
    const now = await rig.uri({ endpoint: replica, role: "replicator" });
    expect(await rig.query(now, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    own = await rig.client(await rig.uri());
  });

  it("a replica that wakes lets nobody in by a password that was reset while it slept, however much was written", async () => {
    await rig.newRole("sleeper");
    const [before, there] = [
      await rig.uri({ endpoint: replica, role: "sleeper" }),
      await rig.uri({ endpoint: replica }),
    ];
    const known = "SELECT FROM pg_roles WHERE rolname = 'sleeper'";
    await expect.poll(() => rig.query(there, known).catch(() => [])).toHaveLength(1);
    await rig.change("POST", `/projects/${project}/endpoints/${replica}/suspend`);
    const rows = "SELECT repeat(md5(i::text), 20) FROM generate_series(1, 40000) i";
    await rig.query(await rig.uri(), `CREATE TABLE public.written_meanwhile AS ${rows}`);
    const [reset] = await rig.change("POST", `${roles}/sleeper/reset_password`);
    expect(reset).toMatchObject({ status: "finished" });
    await expect(rig.query(before, "SELECT 1")).rejects.toThrow(/password authentication failed/);
    const now = await rig.uri({ endpoint: replica, role: "sleeper" });
    expect(await rig.query(now, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    own = await rig.client(await rig.uri());
  });

  it("no session ends where a role or database is made, changed or deleted that has none", async () => {
    await rig.newRole("quiet");
    const databases = `/projects/${project}/branches/${main}/databases`;
    await rig.change("POST", databases, { database: { name: "calm", owner_name: "quiet" } });
    await rig.change("PATCH", `${databases}/calm`, { database: { owner_name: "app" } });
    await rig.change("DELETE", `${databases}/calm`);
    await rig.change("DELETE", `${roles}/quiet`);
    expect((await own.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });
});

it("a replica that starts follows its primary although clients have all connections that replicate", async () => {
  const uri = await rig.uri();
  const replicating = () => rig.client(uri, { replication: "database" });
  const held = [];
  for (let i = 0; i < 10; i += 1) held.push(await replicating());
  await expect(replicating()).rejects.toThrow("takes 10 clients that replicate");
  await rig.change("POST", `/projects/${project}/endpoints/${replica}/restart`);
  await rig.query(uri, "CREATE TABLE followed ()");
  const there = await rig.uri({ endpoint: replica });
  await expect.poll(() => rig.query(there, "SELECT FROM pg_class WHERE relname = 'followed'")).toHaveLength(1);
  await held.pop()?.end();
  await expect.poll(() => replicating().then((client) => held.push(client))).toBe(10);
  for (const client of held) await client.end();
});
