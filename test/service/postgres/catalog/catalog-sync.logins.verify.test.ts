import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { main, primary, project } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
const roles = `/projects/${project}/branches/${main}/roles`;
const refused = /password authentication failed/;
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
});

describe("a role that changes its own password in a transaction without an end", () => {
  const open = async (role: string) => {
    const held = await rig.client(role);
    await held.query("BEGIN");
    await held.query("ALTER ROLE CURRENT_USER PASSWORD 'stolen'");
    return held;
  };

  it("a role has the password to which the API resets it, and no other", async () => {
    const before = await rig.newRole("thief");
    const held = await open(before);
    const [reset] = await rig.change("POST", `${roles}/thief/reset_password`);
    expect(reset).toMatchObject({ status: "finished" });
    await expect(rig.query(before, "SELECT 1")).rejects.toThrow(refused);
    expect(await rig.query(await rig.uri({ role: "thief" }), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await held.end().catch(() => {});
  });

  it("a role logs in no more once the API deletes it", async () => {
    const before = await rig.newRole("leaver");
    const held = await open(before);
    await rig.change("DELETE", `${roles}/leaver`);
    await expect(rig.query(before, "SELECT 1")).rejects.toThrow(refused);
    await held.end().catch(() => {});
  });
});

describe("a role that changes its own password in a prepared transaction, which has no session", () => {
  beforeAll(async () => {
    const settings = { pg_settings: { max_prepared_transactions: "10" } };
    await rig.change("PATCH", `/projects/${project}/endpoints/${primary}`, { endpoint: { settings } });
    await rig.change("POST", `/projects/${project}/endpoints/${primary}/restart`);
  });
  const prepare = (role: string, name: string) =>
    rig.query(role, "BEGIN", "ALTER ROLE CURRENT_USER PASSWORD 'stolen'", `PREPARE TRANSACTION '${name}'`);

  it("a role has the password to which the API resets it, though its change lies in a closed database", async () => {
    const before = await rig.newRole("hidden");
    await rig.query(uri, `CREATE DATABASE "shut'"`);
    await prepare(before.replace("/stock?", "/shut'?"), "it''s kept");
    await rig.query(uri, `ALTER DATABASE "shut'" ALLOW_CONNECTIONS false CONNECTION LIMIT 7`);
    // It has the same catalogue locked, as many may have at once.
    await rig.query(uri, "BEGIN", "CREATE ROLE untouched", "PREPARE TRANSACTION 'other'");
    const [reset] = await rig.change("POST", `${roles}/hidden/reset_password`);
    expect(reset).toMatchObject({ status: "finished" });
    await expect(rig.query(before, "SELECT 1")).rejects.toThrow(refused);
    expect(await rig.query(uri, "SELECT gid FROM pg_prepared_xacts")).toEqual([{ gid: "other" }]);
    const shown = "SELECT datallowconn, datconnlimit FROM pg_database WHERE datname LIKE 'shut%'";
    expect(await rig.query(uri, shown)).toEqual([{ datallowconn: false, datconnlimit: 7 }]);
  });

  it("a role logs in no more once the API deletes it, and is dropped with what it has prepared", async () => {
    const before = await rig.newRole("double");
    await prepare(before, "change");
    await rig.query(before, "CREATE SCHEMA double CREATE TABLE one (x int)");
    await rig.query(before, "BEGIN", "INSERT INTO double.one VALUES (1)", "PREPARE TRANSACTION 'rows'");
    const [deleted] = await rig.change("DELETE", `${roles}/double`);
    expect(deleted).toMatchObject({ status: "finished" });
    await expect(rig.query(before, "SELECT 1")).rejects.toThrow(refused);
    expect(await rig.query(uri, "SELECT FROM pg_roles WHERE rolname = 'double'")).toEqual([]);
  });
});

describe("a database that the API renames, and that a prepared transaction of a client keeps as it is", () => {
  it("keeps no role from being made, given a password or dropped, nor another database from being made", async () => {
    const databases = `/projects/${project}/branches/${main}/databases`;
    const [first, second] = [await rig.newRole("first"), await rig.newRole("second")];
    await rig.change("POST", databases, { database: { name: "kept", owner_name: "app" } });
    const inKept = uri.replace("/stock?", "/kept?");
    await rig.query(inKept, "BEGIN", "CREATE TABLE rows (x int)", "PREPARE TRANSACTION 'still'");
    const [renamed] = await rig.change("PATCH", `${databases}/kept`, { database: { name: "moved" } });
    expect(renamed).toMatchObject({ status: "failed", error: expect.stringContaining("has a prepared transaction") });
    await rig.change("POST", `${roles}/first/reset_password`);
    await expect(rig.query(first, "SELECT 1")).rejects.toThrow(refused);
    await rig.change("DELETE", `${roles}/second`);
    await expect(rig.query(second, "SELECT 1")).rejects.toThrow(refused);
    expect(await rig.query(uri, "SELECT FROM pg_roles WHERE rolname = 'second'")).toEqual([]);
    await rig.change("POST", databases, { database: { name: "other", owner_name: "first" } });
    const third = await rig.newRole("third");
    expect(await rig.query(third.replace("/stock?", "/other?"), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await rig.change("DELETE", `${roles}/third`);
    await expect(rig.query(third, "SELECT 1")).rejects.toThrow(refused);
    await rig.query(inKept, "COMMIT PREPARED 'still'");
    const [tried] = await rig.change("POST", roles, { role: { name: "fourth" } });
    expect(tried).toMatchObject({ status: "finished" });
    expect(await rig.query(uri.replace("/stock?", "/moved?"), "SELECT FROM rows")).toEqual([]);
  });
});

describe("a database whose name is no UTF-8, which a client keeps from being renamed", () => {
  it("keeps no role from losing its login", async () => {
    const before = await rig.newRole("reader");
    await rig.query(uri, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    const inLatin = await rig.client(uri.replace("/stock?", "/latin?"));
    await inLatin.query("DO $$ BEGIN EXECUTE 'CREATE ROLE ' || quote_ident(chr(228)); END $$");
    await inLatin.query("DO $$ BEGIN EXECUTE 'GRANT ' || quote_ident(chr(228)) || ' TO app'; END $$");
    await inLatin.query("DO $$ BEGIN EXECUTE 'ALTER DATABASE latin OWNER TO ' || quote_ident(chr(228)); END $$");
    await inLatin.query("BEGIN");
    await inLatin.query("DO $$ BEGIN EXECUTE 'ALTER ROLE ' || quote_ident(chr(228)) || ' CREATEDB'; END $$");
    const [deleted] = await rig.change("DELETE", `${roles}/reader`);
    expect(deleted).toMatchObject({ status: "finished" });
    await expect(rig.query(before, "SELECT 1")).rejects.toThrow(refused);
    await inLatin.end().catch(() => {});
  });
});

it("a role of the API is a new one, with the rights of its roles, where a client has made one of its name before", async () => {
  const maker = await rig.newRole("maker");
  await rig.query(
    maker,
    "CREATE ROLE early LOGIN PASSWORD 'known' CONNECTION LIMIT 0 VALID UNTIL '2000-01-01'",
    "GRANT early TO maker",
    "ALTER ROLE early SET statement_timeout = 1",
    "CREATE SCHEMA trap",
    "GRANT ALL ON SCHEMA trap TO early",
    "SET ROLE early",
    "CREATE FUNCTION trap.member() RETURNS boolean SECURITY DEFINER AS 'SELECT pg_has_role(current_user, $$neon_superuser$$, $$member$$)' LANGUAGE sql",
  );
  const isMember = "SELECT pg_has_role('neon_superuser', 'member') AS is";
  expect(await rig.query(await rig.newRole("early"), isMember)).toEqual([{ is: true }]);
  expect(await rig.query(maker, "SELECT trap.member() AS is")).toEqual([{ is: false }]);
  await expect(rig.query(maker, "ALTER ROLE early PASSWORD 'again'")).rejects.toThrow(/permission denied/);
  await expect(rig.query(maker, "SET ROLE early")).rejects.toThrow(/permission denied/);
});

describe("a branch without a primary", () => {
  it("its running replica has the passwords that the API shows, and no role that the API has deleted", async () => {
    const [reset, deleted] = [await rig.newRole("reset"), await rig.newRole("deleted")];
    const [created] = await rig.change("POST", `/projects/${project}/endpoints`, {
      endpoint: { branch_id: main, type: "read_only" },
    });
    const replica = z.string().parse(created?.endpoint_id);
    const at = async (role: string) => rig.uri({ endpoint: replica, role });
    const [resetBefore, deletedBefore] = [await at("reset"), await at("deleted")];
    expect([reset, deleted]).not.toEqual([resetBefore, deletedBefore]);
    expect(await rig.query(deletedBefore, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await rig.change("PATCH", `/projects/${project}/endpoints/ep-main`, { endpoint: { disabled: true } });
    await rig.change("POST", `${roles}/reset/reset_password`);
    await rig.change("DELETE", `${roles}/deleted`);
    await expect(rig.query(resetBefore, "SELECT 1")).rejects.toThrow(refused);
    await expect(rig.query(deletedBefore, "SELECT 1")).rejects.toThrow(refused);
    expect(await rig.query(await at("reset"), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });
});
