import { begin, type Holder, open, prepared, run } from "./holder.ts";

/** What transactions hold that are open, or prepared. */
export const transactions: Readonly<Record<string, Holder>> = {
  "tx: ALTER ROLE own password": open("thief", "ALTER ROLE CURRENT_USER PASSWORD 'stolen'"),
  "tx: CREATE ROLE": open("thief", "CREATE ROLE made_here LOGIN"),
  "tx: CREATE ROLE of a name to come": open("thief", "CREATE ROLE wanted LOGIN"),
  "tx: GRANT of a role": open("thief", "CREATE ROLE made_here", "GRANT made_here TO honest"),
  "tx: REVOKE privileges of the victim": open("app", "GRANT SELECT ON items TO victim"),
  "tx: COMMENT ON DATABASE": open("app", "COMMENT ON DATABASE doomed IS 'x'"),
  "tx: ALTER DATABASE SET": open("app", "ALTER DATABASE doomed SET work_mem = '5MB'"),
  "tx: ALTER DATABASE limit": open("app", "ALTER DATABASE doomed CONNECTION LIMIT 50"),
  "tx: ALTER DATABASE RENAME": open("app", "ALTER DATABASE doomed RENAME TO moved"),
  "tx: GRANT ON DATABASE": open("app", "GRANT CONNECT ON DATABASE doomed TO PUBLIC"),
  "tx: ALTER ROLE IN DATABASE SET": open("thief", "ALTER ROLE thief IN DATABASE stock SET work_mem = '5MB'"),
  "tx: GRANT ON its own database": open("app", "GRANT CONNECT ON DATABASE stock TO PUBLIC"),
  "tx: ALTER DEFAULT PRIVILEGES": open("app", "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO victim"),
  "tx: lock on the victim's table": open("app", "LOCK TABLE victims.things IN ACCESS EXCLUSIVE MODE"),
  "tx: read of the victim's table": open("app", "SELECT count(*) FROM victims.things"),
  "tx: locks on catalogues": open(
    "thief",
    ...["pg_authid", "pg_database", "pg_auth_members", "pg_db_role_setting", "pg_shdepend", "pg_class"].map(
      (name) => `LOCK TABLE pg_catalog.${name} IN ACCESS SHARE MODE`,
    ),
  ),
  "tx: lock on the catalogue of roles": { ...open("thief", lockOf("pg_stat_activity")), locksOut: true },
  "tx: lock on the catalogues of its database": { ...open("thief", lockOf("pg_tables")), locksOut: true },
  "tx: rows of the databases and of roles": open(
    "thief",
    "SELECT FROM pg_stat_database_conflicts FOR UPDATE",
    "SELECT FROM pg_group FOR UPDATE",
  ),
  "tx: serializable": open(
    "app",
    "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    "SELECT count(*) FROM items",
    "INSERT INTO items VALUES (9)",
  ),
  "tx: temporary table and cursor": open(
    "app",
    "CREATE TEMP TABLE t AS SELECT 1",
    "DECLARE c CURSOR FOR SELECT * FROM items",
  ),
  "tx: advisory locks": open("thief", "SELECT pg_advisory_xact_lock(i) FROM generate_series(1, 1000) i"),
  "tx: in the doomed database": {
    hold: async (tenant) =>
      run(await tenant.open({ database: "doomed", role: "app" }), "BEGIN", "CREATE TABLE t (x int)"),
  },
  "tx: REINDEX of a catalogue that waits": {
    hold: async (tenant) => {
      const one = await tenant.open({ role: "app" });
      await run(one, "BEGIN", "DECLARE c CURSOR FOR SELECT * FROM pg_class WHERE oid = 1259", "FETCH c");
      begin(await tenant.open({ role: "app" }), "REINDEX SYSTEM stock");
    },
  },
  "temp objects of the victim": {
    hold: async (tenant) =>
      run(await tenant.open({ role: "victim" }), "CREATE TEMP TABLE t (x int)", "CREATE TABLE more (x int)"),
  },
  "prepared transaction": prepared("stock", "CREATE TABLE kept (x int)"),
  "prepared in a database that it closed": preparedInClosed("ALTER DATABASE own CONNECTION LIMIT 5"),
  "prepared, its closed database locked": preparedInClosed("SELECT FROM pg_stat_database_conflicts FOR UPDATE"),
  "prepared in a database with rules, which it changed": preparedInClosed(
    "ALTER DATABASE own CONNECTION LIMIT 5",
    " LOCALE_PROVIDER icu ICU_LOCALE 'en' ICU_RULES '&a < b'",
  ),
  "prepared with the catalogue of roles": prepared("stock", lockOf("pg_stat_activity")),
  "prepared with the catalogues of its database": prepared("stock", lockOf("pg_tables")),
  "prepared with every lock": preparedWithLocks(3),
  "prepared with nearly every lock": preparedWithLocks(800),
  "prepared in the doomed database": prepared("doomed", "CREATE TABLE kept (x int)"),
  "prepared with the database": prepared("stock", "COMMENT ON DATABASE doomed IS 'x'"),
  "prepared with the victim's table": prepared("stock", "LOCK TABLE victims.things IN ACCESS EXCLUSIVE MODE"),
  "prepared GRANT to the victim": prepared("stock", "GRANT SELECT ON items TO victim"),
};

/** Locks the catalogues that a view reads, as which its owner would, the superuser. */
function lockOf(view: string): string {
  return `LOCK TABLE pg_catalog.${view} IN ACCESS EXCLUSIVE MODE`;
}

/**
 * A transaction with a stolen password, prepared in a database that the role has closed, or that has `rules`: `last` is
 * on its row.
 */
function preparedInClosed(last: string, rules = ""): Holder {
  return {
    hold: async (tenant) => {
      const outside = await run(await tenant.open(), `CREATE DATABASE own TEMPLATE template0${rules}`);
      const inside = await run(await tenant.open({ database: "own" }), "BEGIN", "ALTER ROLE thief PASSWORD 'stolen'");
      if (rules === "") await run(outside, "ALTER DATABASE own ALLOW_CONNECTIONS false");
      await run(inside, last, "PREPARE TRANSACTION 'kept'");
      await Promise.all([inside.end(), outside.end()]);
    },
  };
}

/** All locks of a server but some: first by the thousand, then one by one. */
function preparedWithLocks(but: number): Holder {
  return prepared(
    "stock",
    `DO $$ DECLARE last int := 0; step int; BEGIN
      PERFORM pg_advisory_lock(-n) FROM generate_series(1, ${but}) n;
      FOREACH step IN ARRAY ARRAY[5000, 100, 1] LOOP LOOP
        BEGIN
          PERFORM pg_advisory_xact_lock(last + n) FROM generate_series(1, step) n;
          last := last + step;
        EXCEPTION WHEN OTHERS THEN EXIT; END;
      END LOOP; END LOOP;
      PERFORM pg_advisory_unlock_all(); END $$`,
  );
}
