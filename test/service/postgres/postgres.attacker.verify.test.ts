import { chmodSync, existsSync, readFileSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { main, primary, project } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

/** An afternoon of a client that knows this program, and wants to be superuser and to run programs on its host. */
const rig = usePostgresRig();
const caught = join(rig.directory.path, "caught");
const branch = `/projects/${project}/branches/${main}`;
let uri: string;
beforeAll(async () => {
  // Where a program that the servers' user runs could leave a trace.
  chmodSync(rig.directory.path, 0o777);
  uri = await rig.uri();
  await rig.query(uri, "CREATE TABLE item (name text)", "INSERT INTO item VALUES ('bolt')", "CREATE SCHEMA trap");
});

/** A body that runs a program where it may, and fails for everybody but the attacker: nothing of it may be called. */
function trap(attack: string, answer = "NULL"): string {
  return `LANGUAGE plpgsql AS $trap$
    BEGIN
      BEGIN
        COPY (SELECT '${attack}', session_user, current_user) TO PROGRAM 'cat >> ${caught}';
      EXCEPTION WHEN insufficient_privilege THEN NULL;
      END;
      IF session_user <> 'app' THEN RAISE 'trapped by ${attack} as %, %', session_user, current_user; END IF;
      RETURN ${answer};
    END $trap$`;
}

/** All calls in which sessions of the service come into databases of clients: what they said, and the copy's URI. */
async function everyCall(): Promise<{ said: string; there: string }> {
  const said: unknown[] = [];
  const named = { role: { name: "visitor" } };
  said.push(await rig.change("POST", `${branch}/roles`, named), await rig.change("DELETE", `${branch}/roles/visitor`));
  const schema = await rig.call("GET", `${branch}/schema?db_name=stock`);
  said.push(schema.status === 200 ? { status: "finished" } : schema);
  const made = await rig.call("POST", `/projects/${project}/branches`, {
    branch: { parent_id: main, init_source: "schema-only" },
    endpoints: [{ type: "read_write" }],
  });
  const Made = z.looseObject({ endpoints: z.array(z.looseObject({ id: z.string(), branch_id: z.string() })) });
  const [{ id, branch_id } = { id: "", branch_id: "" }] = Made.parse(made.body).endpoints;
  await rig.settled();
  said.push((await rig.operations()).filter((operation) => operation["branch_id"] === branch_id));
  return { said: JSON.stringify(said), there: await rig.uri({ endpoint: id }) };
}

/** All went as if nobody had set a trap. */
function expectSuccess(said: string): void {
  expect(said.match(/"(status|error|message)":(?!"finished")[^,}]*/g)).toBeNull();
}

/** The attacker's own traps are not for these tests. */
const plainly = "SET search_path = pg_catalog";

/** Neither this role nor a program of a client's has got further, and nothing of a client's has become ours. */
async function expectNothingGained(at: string): Promise<void> {
  expect(existsSync(caught) ? readFileSync(caught, "utf8") : "").toBe("");
  const [gained] = await rig.query(
    at,
    plainly,
    `SELECT (SELECT array_agg(rolname::text) FROM pg_roles WHERE rolsuper) AS superusers, (SELECT count(*)::int FROM pg_proc
        WHERE proowner = 10 AND pg_proc.oid >= 16384 AND (prosecdef OR prolang <> 13)) AS functions,
      (SELECT count(*)::int FROM pg_class WHERE relowner = 10 AND pg_class.oid >= 16384
        AND relnamespace <> 'pg_toast'::regnamespace) AS relations`,
  );
  expect(gained).toEqual({ superusers: ["cloud_admin"], functions: 0, relations: 0 });
}

const catalogues = ["class", "database", "roles", "namespace", "settings", "trigger", "proc", "shadow", "authid"];
const names = ["format(text, VARIADIC text[])", "quote_ident(name)", "set_config(text, text, bool)", "lo_unlink(oid)"];
const comparison = (type: string) => [
  `CREATE FUNCTION trap.same(${type}, ${type}) RETURNS bool ${trap("an operator with a name of the catalogue")}`,
  `CREATE OPERATOR trap.= (LEFTARG = ${type}, RIGHTARG = ${type}, FUNCTION = trap.same)`,
];

/** Traps for sessions of others, each by its name. */
const attacks: Readonly<Record<string, readonly string[]>> = {
  "a trigger on TRUNCATE": [
    "CREATE TABLE trap.bait (x int)",
    `CREATE FUNCTION trap.fired() RETURNS trigger ${trap("a trigger on TRUNCATE")}`,
    "CREATE TRIGGER usual BEFORE TRUNCATE ON trap.bait EXECUTE FUNCTION trap.fired()",
  ],
  "a trigger on TRUNCATE that always fires": [
    `CREATE FUNCTION trap.fired_always() RETURNS trigger ${trap("a trigger on TRUNCATE that always fires")}`,
    "CREATE TRIGGER always AFTER TRUNCATE ON trap.bait EXECUTE FUNCTION trap.fired_always()",
    "ALTER TABLE trap.bait ENABLE ALWAYS TRIGGER always",
    "CREATE TRIGGER replica BEFORE TRUNCATE ON trap.bait EXECUTE FUNCTION trap.fired_always()",
    "ALTER TABLE trap.bait ENABLE REPLICA TRIGGER replica",
    "CREATE TRIGGER off BEFORE TRUNCATE ON trap.bait EXECUTE FUNCTION trap.fired_always()",
    "ALTER TABLE trap.bait DISABLE TRIGGER off",
  ],
  "a view with a name of the catalogue": [
    `CREATE FUNCTION trap.seen() RETURNS text ${trap("a view with a name of the catalogue")}`,
    ...catalogues.map((name) => `CREATE VIEW trap.pg_${name} AS SELECT trap.seen() AS datname, trap.seen() AS nspname`),
  ],
  "a function with a name of the catalogue": names.map(
    (name) => `CREATE FUNCTION trap.${name} RETURNS text ${trap("a function with a name of the catalogue")}`,
  ),
  "an operator with a name of the catalogue": ["oid", "name", "text"].flatMap(comparison),
  "a cast that Postgres uses unasked": [
    "CREATE TYPE trap.kind AS ENUM ('a')",
    ...["name", "text", "oid"].flatMap((type) => [
      `CREATE FUNCTION trap.of_${type}(${type}) RETURNS trap.kind ${trap("a cast that Postgres uses unasked")}`,
      `CREATE CAST (${type} AS trap.kind) WITH FUNCTION trap.of_${type} AS IMPLICIT`,
    ]),
  ],
  "a function in an index, a default, a rule, a policy or a view": [
    `CREATE FUNCTION trap.folded(int) RETURNS int IMMUTABLE ${trap("superusers in an index", "1")}`,
    `CREATE FUNCTION trap.called() RETURNS text ${trap("a function in an index, a default, a rule, a policy or a view")}`,
    "CREATE TABLE trap.full (x int DEFAULT trap.folded(1), t text DEFAULT trap.called())",
    "CREATE INDEX ON trap.full (trap.folded(x))",
    "ALTER TABLE trap.full ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
    "CREATE POLICY seen ON trap.full USING (trap.called() IS NULL)",
    "CREATE RULE gone AS ON DELETE TO trap.full DO ALSO SELECT trap.called()",
    "CREATE MATERIALIZED VIEW trap.made AS SELECT trap.called()",
  ],
  "a privilege by default": [
    "ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC",
    "ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO PUBLIC",
    "ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO PUBLIC",
  ],
  "an extension that anyone may install": ["CREATE SCHEMA tools", "CREATE EXTENSION hstore SCHEMA tools"],
  "an extension among the catalogue's own functions": ["ltree", "intarray", "seg"].map(
    (name) => `CREATE EXTENSION ${name} SCHEMA pg_catalog`,
  ),
  "a name that would be SQL": [
    `x"; ALTER ROLE app SUPERUSER; --`,
    `y'; ALTER ROLE app SUPERUSER; --`,
    `z\\'; %I %s $$ \n;ALTER ROLE app SUPERUSER; --`,
  ].flatMap((name) => {
    const quoted = `"${name.replaceAll('"', '""')}"`;
    return [
      `CREATE ROLE ${quoted}`,
      `GRANT ${quoted} TO app`,
      `CREATE DATABASE ${quoted} OWNER ${quoted}`,
      `CREATE SCHEMA ${quoted} AUTHORIZATION ${quoted}`,
      `CREATE TABLE ${quoted}.${quoted} (${quoted} int DEFAULT 1, CONSTRAINT ${quoted} CHECK (${quoted} > 0))`,
      `ALTER TABLE ${quoted}.${quoted} OWNER TO ${quoted}`,
      `CREATE SEQUENCE ${quoted}."${name.replaceAll('"', "")}s"`,
      `COMMENT ON TABLE ${quoted}.${quoted} IS '${name.replaceAll("'", "''")}'`,
    ];
  }),
};

describe("our own role", () => {
  it("our own role has no verifier that a client could read, in a branch and its copy", async () => {
    const verifiers = "SELECT rolname FROM pg_authid WHERE rolpassword IS NOT NULL AND rolname ~ '^cloud'";
    expect(await rig.query(uri, verifiers)).toEqual([]);
    const { there } = await everyCall();
    expect(await rig.query(there, verifiers)).toEqual([]);
  });

  it("our own role is let in by no door, with any password or none", async () => {
    const [direct, pooled] = [await rig.uri(), await rig.uri({ pooled: true })];
    for (const door of [direct, pooled]) {
      for (const password of ["", "x", "cloud_admin"]) {
        const as = door.replace(/\/\/app:[^@]*@/, `//cloud_admin:${password}@`);
        await expect(rig.query(as, "SELECT 1")).rejects.toThrow(/"cloud_admin" is not permitted to log in/);
        const plain = as.replace(/[?]options=.*/, "").replace(/:[^:@]*@/, `:endpoint=${primary};${password}@`);
        await expect(rig.query(plain, "SELECT 1")).rejects.toThrow(/"cloud_admin" is not permitted to log in/);
        const answer = await fetch(`http://${rig.serviceAddress}/sql`, {
          method: "POST",
          headers: { "neon-connection-string": as },
          body: JSON.stringify({ query: "SELECT current_user", params: [] }),
        });
        expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("is not permitted")]);
      }
    }
  });

  it.each(["session_authorization", "role"])(
    "our own role is not taken by the parameter %s of a connection",
    async (name) => {
      const asked = uri.replace("options=", `options=-c%20${name}%3Dcloud_admin%20`);
      const said = await rig.query(asked, "SELECT session_user, current_user").catch((error: unknown) => String(error));
      expect(JSON.stringify(said)).not.toMatch(/"(session|current)_user":"cloud_admin"/);
    },
  );

  it("our own role keeps its sessions where a client has stored another session_authorization", async () => {
    await rig.query(uri, "ALTER DATABASE stock SET session_authorization = app", "ALTER DATABASE stock SET role = app");
    expectSuccess((await everyCall()).said);
    const who = "SELECT session_user::text AS one, current_user::text AS other";
    expect(await rig.query(uri, who)).toEqual([{ one: "app", other: "app" }]);
    await rig.query(uri, "ALTER DATABASE stock RESET ALL");
  });
});

describe("a client gains nothing by", () => {
  let said: string;
  let there: string;
  beforeAll(async () => {
    await rig.query(uri, ...Object.values(attacks).flat());
    await rig.query(uri, "ALTER DATABASE stock SET search_path = trap, tools, pg_catalog");
    ({ said, there } = await everyCall());
  });

  it.each(Object.keys(attacks))("%s", async (attack) => {
    expect(said).not.toContain(`trapped by ${attack}`);
    expectSuccess(said);
    await expectNothingGained(uri);
    await expectNothingGained(there);
  });

  it("what is put back after a copy: its triggers are enabled as they were", async () => {
    const enabled =
      "SELECT tgname, tgenabled FROM pg_catalog.pg_trigger WHERE tgrelid = 'trap.bait'::regclass ORDER BY 1";
    const before = await rig.query(uri, plainly, enabled);
    expect(before.map(({ tgenabled }) => tgenabled)).toEqual(["A", "D", "R", "O"]);
    expect(await rig.query(there, plainly, enabled)).toEqual(before);
    const copiers = "SELECT rolname FROM pg_catalog.pg_roles WHERE rolname LIKE 'cloud%'";
    expect(await rig.query(there, plainly, copiers)).toEqual([{ rolname: "cloud_admin" }]);
  });

  it("the pooler's look at passwords", async () => {
    await rig.change("POST", `/projects/${project}/endpoints/${primary}/restart`);
    const pooled = await rig.uri({ pooled: true });
    expect(await rig.query(pooled, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await expect(rig.query(pooled.replace(/:npg_[^@]*@/, ":wrong@"), "SELECT 1")).rejects.toThrow(/authentication/);
    await expectNothingGained(uri);
  });

  it("a SECURITY DEFINER function of a role that the API deletes, in a database of that role", async () => {
    await rig.change("POST", `${branch}/roles`, { role: { name: "mole" } });
    const mole = await rig.uri({ role: "mole" });
    await rig.query(mole, "CREATE DATABASE lair");
    const inLair = (one: string) => one.replace("/stock?", "/lair?");
    await rig.query(inLair(mole), `CREATE FUNCTION public.boss() RETURNS text SECURITY DEFINER ${trap("mole")}`);
    await rig.call("DELETE", `${branch}/roles/mole`);
    await rig.settled();
    await rig.query(inLair(uri), "SELECT public.boss()");
    await expectNothingGained(inLair(uri));
  });

  it("a temporary SECURITY DEFINER function of a role that the API deletes, in a database of the service", async () => {
    await rig.change("POST", `${branch}/roles`, { role: { name: "ghost" } });
    const inPostgres = (one: string) => one.replace("/stock?", "/postgres?");
    const ghost = await rig.client(inPostgres(await rig.uri({ role: "ghost" })));
    await ghost.query(`CREATE FUNCTION pg_temp.boss() RETURNS text SECURITY DEFINER ${trap("ghost")}`);
    const [operation] = await rig.change("DELETE", `${branch}/roles/ghost`);
    expect(operation).toMatchObject({ status: "finished" });
    await expect(ghost.query("SELECT pg_temp.boss()")).rejects.toThrow(/terminat|closed|not queryable/i);
    await expectNothingGained(inPostgres(uri));
    await ghost.end();
  });

  it.each(["postgres", "template0", "template1"])(
    "taking over the database %s, on which the service relies",
    async (name) => {
      const made = await rig.call("POST", `${branch}/databases`, { database: { name, owner_name: "app" } });
      const renamed = await rig.call("PATCH", `${branch}/databases/stock`, { database: { name } });
      for (const { status, body } of [made, renamed]) {
        expect([status, body["message"]]).toEqual([400, expect.stringContaining("keeps for itself")]);
      }
      await expect(rig.query(uri, `ALTER DATABASE ${name} SET search_path = trap`)).rejects.toThrow(/must be owner/);
    },
  );

  it("writing the catalogues through Postgres's views on them, in any database", async () => {
    const rows = `SELECT array_agg(oid || ' ' || rolname ORDER BY oid)::text AS roles,
      (SELECT array_agg(oid || ' ' || datname ORDER BY oid) FROM pg_catalog.pg_database)::text AS databases FROM pg_catalog.pg_roles`;
    await rig.query(uri, "CREATE DATABASE later");
    const before = await rig.query(uri, rows);
    for (const name of ["stock", "later", "postgres", "template1"]) {
      await rig.query(
        uri.replace("/stock?", `/${name}?`),
        "UPDATE pg_catalog.pg_group SET groname = 'former' WHERE groname = 'neon_superuser'",
        "UPDATE pg_catalog.pg_group SET groname = 'neon_superuser' WHERE groname = 'pg_execute_server_program'",
        "INSERT INTO pg_catalog.pg_group (groname) VALUES ('more')",
        "DELETE FROM pg_catalog.pg_group",
        "DELETE FROM information_schema.enabled_roles",
        "UPDATE pg_catalog.pg_stat_database_conflicts SET datname = 'former' WHERE datname = 'postgres'",
        "INSERT INTO pg_catalog.pg_stat_database_conflicts (datname) VALUES ('more')",
        "DELETE FROM pg_catalog.pg_stat_database_conflicts",
      );
      expect(await rig.query(uri, rows)).toEqual(before);
    }
  });

  it.each([
    "CREATE EVENT TRIGGER entered ON ddl_command_start EXECUTE FUNCTION trap.fired()",
    "CREATE FUNCTION pg_catalog.format(text, int) RETURNS text LANGUAGE sql RETURN ''",
    "CREATE OPERATOR FAMILY trap.ordered USING btree",
    "CREATE CAST (name AS text) WITH INOUT AS IMPLICIT",
    "ALTER ROLE cloud_admin SET search_path = trap",
    "ALTER ROLE cloud_admin IN DATABASE stock SET search_path = trap",
    "ALTER ROLE ALL SET search_path = trap",
    "ALTER DEFAULT PRIVILEGES FOR ROLE cloud_admin GRANT ALL ON TABLES TO PUBLIC",
    "ALTER DATABASE stock SET session_preload_libraries = 'x'",
    "ALTER DATABASE stock SET session_replication_role = 'replica'",
    "ALTER DATABASE stock SET event_triggers = on",
  ])("what Postgres itself refuses: %s", async (sql) => {
    await expect(rig.query(uri, sql)).rejects.toThrow(/permission denied|[Mm]ust be superuser|must be owner/);
  });

  it("settings stored in its database: none takes effect in a session of the service", async () => {
    await rig.query(uri, "ALTER DATABASE stock RESET ALL");
    const client = await rig.client(uri);
    const { rows } = await client.query(extremes);
    const stored = z.array(z.object({ name: z.string(), value: z.string().nullable() })).parse(rows);
    const extreme = stored.flatMap(({ name, value }) => (value === null ? [] : [[name, value] as const]));
    for (const [name, value] of [...extreme, ...Object.entries(nasty)]) {
      // Postgres refuses some at once, such as a table access method that is not there.
      await client.query(`ALTER DATABASE stock SET ${name} = '${value}'`).catch(() => {});
    }
    const count = "SELECT cardinality(setconfig) AS settings FROM pg_db_role_setting";
    expect((await client.query(count)).rows[0]?.["settings"]).toBeGreaterThan(100);
    expectSuccess((await everyCall()).said);
    await client.end();
  });
});

/** A value of each setting that anyone may set, other than its own. */
const extremes = `SELECT name, CASE vartype WHEN 'bool' THEN CASE setting WHEN 'on' THEN 'off' ELSE 'on' END
    WHEN 'enum' THEN (SELECT v FROM unnest(enumvals) v WHERE v <> setting LIMIT 1)
    WHEN 'string' THEN NULL ELSE CASE WHEN setting::numeric > min_val::numeric THEN min_val ELSE '1' END END AS value
  FROM pg_settings WHERE context = 'user' ORDER BY name`;
const nasty = {
  ...Object.fromEntries(
    ["statement", "lock", "idle_session", "transaction"].map((name) => [`${name}_timeout`, "1"] as const),
  ),
  search_path: "trap",
  role: "app",
  session_authorization: "app",
  local_preload_libraries: "nothing",
  client_encoding: "LATIN1",
  datestyle: "SQL, DMY",
  timezone: "Pacific/Kiritimati",
  timezone_abbreviations: "India",
  restrict_nonsystem_relation_kind: "view",
  default_table_access_method: "none",
  default_tablespace: "none",
  temp_tablespaces: "none",
};

it("keeps every file beside the store from others, but for the certificate that clients need", async () => {
  const files = await readdir(rig.directory.path, { recursive: true, withFileTypes: true });
  const open = files
    .filter((file) => !file.isSocket())
    .map((file) => join(file.parentPath, file.name))
    .filter((path) => path.startsWith(rig.data) && !/\.crt$|\.postgres\/programs-/.test(path))
    .filter((path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
  expect(open).toEqual([]);
});
