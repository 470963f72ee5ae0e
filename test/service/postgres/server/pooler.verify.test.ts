import { beforeAll, expect, it } from "vitest";
import { programPath } from "../../../support/debian.ts";
import { commandLines } from "../../../support/process-list.ts";
import { runProgram } from "../../../support/run-program.ts";
import { sendCancel } from "../node-postgres.ts";
import { primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

await programPath({
  purpose: "The tests of the pooled host need PgBouncer",
  variable: "PGBOUNCER",
  path: "/usr/sbin/pgbouncer",
  package: "pgbouncer",
});
const rig = usePostgresRig();
let pooled: string;
let direct: string;
beforeAll(async () => {
  pooled = await rig.uri({ pooled: true });
  direct = await rig.uri();
});

/** The poolers of this rig that run. */
function poolers(): string[] {
  return commandLines().filter((line) => line.includes(rig.data) && /^\S*pgbouncer /.test(line));
}

it("takes more clients on the pooled host than the server has connections", async () => {
  const clients = await Promise.all(Array.from({ length: 460 }, () => rig.client(pooled)));
  const answers = await Promise.all(clients.map((client) => client.query("SELECT 1 AS one")));
  expect(answers.every(({ rows }) => rows[0]?.["one"] === 1)).toBe(true);
  await Promise.all(clients.map((client) => client.end()));
  expect(poolers()).toHaveLength(1);
});

it("lends a server connection for a transaction only", async () => {
  const [one, other] = [await rig.client(pooled), await rig.client(pooled)];
  const backend = async (client: typeof one) => (await client.query("SELECT pg_backend_pid() AS pid")).rows[0]?.["pid"];
  expect(await backend(one)).toBe(await backend(other));
  await one.query("BEGIN");
  const held = await backend(one);
  expect(await backend(other)).not.toBe(held);
  expect(await backend(one)).toBe(held);
  await one.query("COMMIT");
  await Promise.all([one.end(), other.end()]);
});

it("logins to many databases through the pooled host take none of the places that Postgres keeps for superusers", async () => {
  const own = "SELECT FROM pg_stat_activity WHERE usename = 'cloud_admin' AND datname <> 'postgres'";
  await expect.poll(() => rig.query(direct, own)).toEqual([]);
  const names = ["one", "two", "three", "four"];
  for (const name of names) {
    await rig.query(direct, `CREATE DATABASE ${name} TEMPLATE template0`);
    expect(await rig.query(pooled.replace("/stock?", `/${name}?`), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    expect(await rig.query(direct, own)).toEqual([]);
  }
});

it("a database that its role has locked is no other database's, whose clients log in through the pooled host", async () => {
  await rig.query(direct, "CREATE DATABASE locked TEMPLATE template0");
  const holder = await rig.client(direct.replace("/stock?", "/locked?"));
  // The catalogues that each session reads as it opens.
  await holder.query("BEGIN");
  await holder.query("LOCK TABLE pg_catalog.pg_tables IN ACCESS EXCLUSIVE MODE");
  const waiting = rig.query(pooled.replace("/stock?", "/locked?"), "SELECT 1 AS one");
  await expect.poll(() => rig.query(direct, "SELECT FROM pg_locks WHERE NOT granted")).not.toEqual([]);
  expect(await rig.query(pooled, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await holder.end();
  expect(await waiting).toEqual([{ one: 1 }]);
});

it("roles log in through the pooled host while a transaction of another one is open, also with a new password", async () => {
  const as = (role: string, password: string) => pooled.replace(/app:npg_[^@]*@/, `${role}:${password}@`);
  const open = await rig.client(pooled);
  await open.query("BEGIN");
  for (const [index, name] of ["dora", `"d""${"x".repeat(60)}"`, '"one\n""two"" "'].entries()) {
    await rig.query(direct, `CREATE ROLE ${name} LOGIN PASSWORD 'first${index}'`);
    const role = encodeURIComponent(name.replace(/^"|"$/g, "").replaceAll('""', '"'));
    expect(await rig.query(as(role, `first${index}`), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await rig.query(direct, `ALTER ROLE ${name} PASSWORD 'second'`);
    expect(await rig.query(as(role, "second"), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await expect(rig.query(as(role, `first${index}`), "SELECT 1")).rejects.toThrow(/authentication failed/);
  }
  expect((await open.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await open.query("COMMIT");
  await open.end();
});

it("a role logs in through the pooled host with each of its passwords, however soon another one follows", async () => {
  await rig.query(direct, "CREATE ROLE emma LOGIN");
  for (const password of ["one", "two", "three", "four", "five", "six"]) {
    await rig.query(direct, `ALTER ROLE emma PASSWORD '${password}'`);
    const asEmma = pooled.replace(/app:npg_[^@]*@/, `emma:${password}@`);
    expect(await rig.query(asEmma, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  }
});

it("a role drops a database that it has reached through the pooled host: PgBouncer has no session of its own there", async () => {
  await rig.query(direct, "CREATE DATABASE passing TEMPLATE template0");
  await rig.query(pooled.replace("/stock?", "/passing?"), "SELECT 1");
  expect(await rig.query(direct, "DROP DATABASE passing WITH (FORCE)")).toEqual([]);
  const gone = rig.query(pooled.replace("/stock?", "/passing?"), "SELECT 1");
  await expect(gone).rejects.toThrow('database "passing" does not exist');
});

it("keeps prepared statements exactly where its PgBouncer can, and the service says at its start where it cannot", async () => {
  const version = await runProgram("pgbouncer", ["--version"], { env: { PATH: process.env["PATH"] } });
  const [, minor = 0] = (/PgBouncer 1\.(\d+)/.exec(version.stdout) ?? []).map(Number);
  const one = await rig.client(pooled);
  const other = await rig.client(pooled);
  const ask = async (value: number) =>
    (await one.query({ name: "sum", text: "SELECT $1::int + 1 AS sum", values: [value] })).rows[0]?.["sum"];
  expect(await ask(1)).toBe(2);
  // The other client holds the server on which the statement was prepared, so the next one is another.
  await other.query("BEGIN");
  const next = ask(2).catch((error: unknown) => String(error));
  expect(await next).toBe(minor >= 21 ? 3 : 'error: prepared statement "sum" does not exist');
  await other.query("COMMIT");
  await Promise.all([one.end(), other.end()]);
  const said = rig.child.lines.filter((line) => line.includes("cannot use prepared statements"));
  expect(said).toHaveLength(minor >= 21 ? 0 : 1);
});

it("cancels statements on the pooled host, and the sessions beside them go on", async () => {
  const beside = await rig.client(pooled);
  const asleep = "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'";
  for (let times = 0; times < 5; times += 1) {
    const one = await rig.client(pooled);
    const running = one.query("SELECT pg_sleep(60)").catch(String);
    await expect.poll(() => rig.query(direct, asleep)).toHaveLength(1);
    await sendCancel(rig.address, one);
    expect(await running).toContain("canceling statement due to user request");
    await one.end();
  }
  expect((await beside.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  await beside.end();
});

it("checks passwords on the pooled host, the newest too, and lets nobody in as the servers' own role", async () => {
  await expect(rig.query(pooled.replace(/:npg_[^@]*@/, ":wrong@"), "SELECT 1")).rejects.toThrow(
    /authentication failed/,
  );
  await expect(rig.query(pooled.replace("//app:", "//cloud_admin:"), "SELECT 1")).rejects.toThrow(
    /not permitted to log in/,
  );
  await expect(rig.query(pooled.replace("/stock?", "/pgbouncer?"), "SHOW POOLS")).rejects.toThrow(
    /does not lead to a database "pgbouncer"/,
  );
  await rig.change("POST", `/projects/${project}/branches/br-main/roles/app/reset_password`);
  await expect(rig.query(pooled, "SELECT 1")).rejects.toThrow(/authentication failed/);
  [pooled, direct] = [await rig.uri({ pooled: true }), await rig.uri()];
  expect(await rig.query(pooled, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("a password that has expired, and one of a role that may not log in, let nobody in, though PgBouncer has a session", async () => {
  const asCarl = pooled.replace(/app:npg_[^@]*@/, "carl:secret@");
  await rig.query(direct, "CREATE ROLE carl LOGIN PASSWORD 'secret' VALID UNTIL 'infinity'");
  expect(await rig.query(asCarl, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await rig.query(direct, "ALTER ROLE carl VALID UNTIL '2001-01-01'");
  await expect(rig.query(asCarl, "SELECT 1")).rejects.toThrow('password authentication failed for user "carl"');
  await rig.query(direct, "ALTER ROLE carl VALID UNTIL 'infinity'");
  expect(await rig.query(asCarl, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await rig.query(direct, "ALTER ROLE carl NOLOGIN");
  await expect(rig.query(asCarl, "SELECT 1")).rejects.toThrow('password authentication failed for user "carl"');
});

it("a role that may not connect to a database any more, or one that is closed, is not let in, though PgBouncer has a session", async () => {
  await rig.query(direct, "CREATE DATABASE barred TEMPLATE template0", "CREATE ROLE dan LOGIN PASSWORD 'secret'");
  const asDan = pooled.replace(/app:npg_[^@]*@/, "dan:secret@").replace("/stock?", "/barred?");
  expect(await rig.query(asDan, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  for (const [barred, allowed] of [
    ["REVOKE CONNECT ON DATABASE barred FROM PUBLIC", "GRANT CONNECT ON DATABASE barred TO dan"],
    ["ALTER DATABASE barred ALLOW_CONNECTIONS false", "ALTER DATABASE barred ALLOW_CONNECTIONS true"],
    ["ALTER DATABASE barred CONNECTION LIMIT 0", "ALTER DATABASE barred CONNECTION LIMIT 9"],
    ["ALTER ROLE dan CONNECTION LIMIT 0", "ALTER ROLE dan CONNECTION LIMIT -1"],
  ] as const) {
    await rig.query(direct, barred);
    await expect(rig.query(asDan, "SELECT 1")).rejects.toThrow('permission denied for database "barred"');
    await rig.query(direct, allowed);
    expect(await rig.query(asDan, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  }
});

it("a role with the name of another one gets its own session at the pooled host, and that one's clients end", async () => {
  const as = (password: string) => pooled.replace(/app:npg_[^@]*@/, `chief:${password}@`);
  const made = (password: string) => `CREATE ROLE chief LOGIN PASSWORD '${password}'`;
  await rig.query(direct, made("one"), "CREATE TABLE plans (x int)", "GRANT SELECT ON plans TO chief");
  const before = await rig.client(as("one"));
  expect((await before.query("SELECT x FROM plans")).rows).toEqual([]);
  await rig.query(direct, "ALTER ROLE chief RENAME TO boss", made("two"));
  const who = "SELECT current_user::text AS name";
  expect(await rig.query(as("two"), who)).toEqual([{ name: "chief" }]);
  await expect(rig.query(as("two"), "SELECT x FROM plans")).rejects.toThrow("permission denied for table plans");
  await expect(before.query("SELECT 1")).rejects.toThrow(/./);
  await rig.query(direct, "DROP ROLE chief", made("three"));
  expect(await rig.query(as("three"), who)).toEqual([{ name: "chief" }]);
});

it("cannot be led to another table of passwords by a client's search path", async () => {
  await rig.query(
    direct,
    "CREATE SCHEMA trap",
    "CREATE VIEW trap.pg_shadow AS SELECT 'app'::name AS usename, ''::text AS passwd",
    "CREATE FUNCTION trap.same(name, text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$",
    "CREATE OPERATOR trap.= (LEFTARG = name, RIGHTARG = text, FUNCTION = trap.same)",
    "ALTER DATABASE stock SET search_path = trap, pg_catalog",
  );
  await rig.change("POST", `/projects/${project}/endpoints/${primary}/restart`);
  expect(await rig.query(pooled, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("a client's parameters are no statements of a superuser: PgBouncer has no session but those of clients", async () => {
  await rig.query(direct, "ALTER DATABASE stock SET backslash_quote = on");
  await rig.change("POST", `/projects/${project}/endpoints/${primary}/restart`);
  // In SJIS the second byte of the first letter makes one letter with a backslash.
  const name = encodeURIComponent("Á\\';ALTER ROLE app SUPERUSER--");
  for (const given of ["", "", `&application_name=${name}`])
    await runProgram("psql", ["--command", "SELECT 1", `${pooled}&client_encoding=SJIS${given}`]);
  expect(await rig.query(direct, "SELECT rolsuper FROM pg_roles WHERE rolname = 'app'")).toEqual([{ rolsuper: false }]);
});

it("more roles than the server has connections leave each other room on the pooled host, and clients that come directly too", async () => {
  const smallest = { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 0.25 };
  await rig.change("PATCH", `/projects/${project}/endpoints/${primary}`, { endpoint: smallest });
  const most = Number((await rig.query(direct, "SHOW max_connections"))[0]?.["max_connections"]);
  const names = Array.from({ length: most }, (_, index) => `tenant_${index}`);
  await rig.query(direct, ...names.map((name) => `CREATE ROLE ${name} LOGIN PASSWORD 'p'`));
  const uris = names.map((name) => Object.assign(new URL(pooled), { username: name, password: "p" }).href);
  const shown = await Promise.all(uris.map((uri) => rig.query(uri, "SELECT current_user AS role")));
  expect(shown.flat().map(({ role }) => role)).toEqual(names);
  expect(await rig.query(direct, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("pairs of role and database, more than the server has connections, keep a further one out for seconds alone", async () => {
  const smallest = { autoscaling_limit_min_cu: 0.25, autoscaling_limit_max_cu: 0.25 };
  await rig.change("PATCH", `/projects/${project}/endpoints/${primary}`, { endpoint: smallest });
  const names = ["further", ...Array.from({ length: 65 }, (_, index) => `pair_${index}`)];
  await rig.query(direct, ...names.map((name) => `CREATE ROLE ${name} LOGIN PASSWORD 'p'`));
  const uris = names.map((name) => Object.assign(new URL(pooled), { username: name, password: "p" }).href);
  const [further = "", ...pairs] = uris.flatMap((uri) => [uri, uri.replace("/stock?", "/neondb?")]);
  const enters = async (uri: string) =>
    rig.query(uri, "SELECT 1").then(
      () => "in",
      () => "out",
    );
  expect(await Promise.all(pairs.map(enters))).toContain("out");
  await expect.poll(() => enters(further), { timeout: 20_000 }).toBe("in");
});

it("ends the pooler with its server, and starts it again with the next client", async () => {
  await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
  await expect.poll(poolers).toEqual([]);
  expect(await rig.query(pooled, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect(poolers()).toHaveLength(1);
});

it("leaves no pooler when the service is killed", async () => {
  await rig.query(pooled, "SELECT 1");
  await rig.kill();
  await expect.poll(poolers).toEqual([]);
  await rig.start();
});
