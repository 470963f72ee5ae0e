import { begin, busy, done, type Holder, run, slot } from "./holder.ts";

/** What a role leaves in its branch: in databases, as settings, and in catalogues. */
export const leavings: Readonly<Record<string, Holder>> = {
  "slot that is inactive": done("app", "doomed", slot("still")),
  "slot that is temporary": {
    hold: async (tenant) => run(await tenant.open({ role: "app", database: "doomed" }), slot("passing", true)),
  },
  "slot that is active": {
    hold: async (tenant) => {
      await run(await tenant.open({ role: "app", database: "doomed" }), slot("followed"));
      const client = await tenant.open({ role: "app", database: "doomed", settings: { replication: "database" } });
      begin(client, "START_REPLICATION SLOT followed LOGICAL 0/0");
    },
  },
  "slot that is physical, ten of them": {
    hold: async (tenant) =>
      run(
        await tenant.open({ role: "app" }),
        "SELECT pg_create_physical_replication_slot('p' || i, true) FROM generate_series(1, 10) i",
      ),
  },
  "template flag": done("app", "stock", "ALTER DATABASE doomed IS_TEMPLATE true"),
  "template flag that comes back": busy(
    "stock",
    [],
    "DO $$ BEGIN LOOP BEGIN ALTER DATABASE doomed IS_TEMPLATE true; EXCEPTION WHEN OTHERS THEN NULL; END; COMMIT; END LOOP; END $$",
  ),
  "database that is a template being copied": {
    hold: async (tenant) => {
      await done(
        "app",
        "doomed",
        "CREATE TABLE big AS SELECT repeat('x', 1000) AS x FROM generate_series(1, 600000)",
      ).hold(tenant);
      begin(await tenant.open({ role: "app" }), "CREATE DATABASE copied TEMPLATE doomed STRATEGY wal_log");
    },
  },
  "database that is closed": done("app", "stock", "ALTER DATABASE doomed ALLOW_CONNECTIONS false CONNECTION LIMIT 0"),
  "database that is renamed": done("app", "stock", "ALTER DATABASE doomed RENAME TO moved"),
  "database renamed in a loop": busy(
    "stock",
    [],
    `DO $$ BEGIN LOOP
      BEGIN ALTER DATABASE doomed RENAME TO moved; EXCEPTION WHEN OTHERS THEN NULL; END; COMMIT;
      BEGIN ALTER DATABASE moved RENAME TO doomed; EXCEPTION WHEN OTHERS THEN NULL; END; COMMIT; END LOOP; END $$`,
  ),
  "large objects of the victim": done("victim", "stock", "SELECT lo_from_bytea(0, 'x') FROM generate_series(1, 5000)"),
  "settings of the database": lockingOut(
    "app",
    "stock",
    ...["stock", "doomed"].flatMap((name) =>
      [
        "statement_timeout = 1",
        "lock_timeout = 1",
        "default_transaction_read_only = on",
        "search_path = evil",
        "role = victim",
        "idle_session_timeout = 1",
        "default_transaction_isolation = serializable",
      ].map((setting) => `ALTER DATABASE ${name} SET ${setting}`),
    ),
  ),
  "settings of a role": lockingOut(
    "thief",
    "stock",
    "ALTER ROLE CURRENT_USER SET statement_timeout = 1",
    "ALTER ROLE CURRENT_USER SET default_transaction_read_only = on",
  ),
  "functions that shadow": done(
    "app",
    "stock",
    "CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(100); RETURN 'x'; END $$",
    "CREATE FUNCTION public.text_eq(name, text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(100); RETURN true; END $$",
    "CREATE OPERATOR public.= (LEFTARG = name, RIGHTARG = text, FUNCTION = public.text_eq)",
  ),
  "10,000 tables of the victim": done(
    "victim",
    "stock",
    ...Array.from(
      { length: 10 },
      () =>
        "DO $$ BEGIN FOR i IN 1..1000 LOOP EXECUTE 'CREATE TABLE victims.t_' || txid_current() || '_' || i || ' ()'; END LOOP; END $$",
    ),
  ),
  "10,000 roles": done(
    "thief",
    "stock",
    "DO $$ BEGIN FOR i IN 1..10000 LOOP EXECUTE 'CREATE ROLE r_' || i; END LOOP; END $$",
  ),
  "grants by the victim": done(
    "victim",
    "stock",
    "CREATE ROLE lent",
    "GRANT lent TO thief WITH ADMIN OPTION",
    "GRANT ALL ON victims.things TO thief WITH GRANT OPTION",
    "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO thief",
    "CREATE PUBLICATION victims FOR TABLE victims.things",
  ),
  "policies and extensions of the victim": done(
    "victim",
    "stock",
    "CREATE EXTENSION IF NOT EXISTS hstore",
    "CREATE COLLATION victims.icu (provider = icu, locale = 'de')",
    "CREATE TABLE victims.c (x text COLLATE victims.icu)",
    "ALTER TABLE victims.c ENABLE ROW LEVEL SECURITY",
    "CREATE POLICY p ON victims.c TO victim, app USING (true)",
  ),
};

function lockingOut(...statements: Parameters<typeof done>): Holder {
  return { ...done(...statements), locksOut: true };
}
