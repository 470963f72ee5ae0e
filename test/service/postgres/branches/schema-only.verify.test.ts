import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { SqlClient } from "../../../../src/service/postgres/session/sql-client.ts";
import { main, primary, project, serverSocket } from "../rig.ts";
import { usePostgresRig } from "../use-rig.ts";

const rig = usePostgresRig();
let uri: string;
let there: string;
/** What clients can read of the parent, and its schema: before a transaction locks tables. */
let before: string;
let schemaBefore: unknown;
let databasesThere: unknown;
const secret = "hush";

/** True if the secret stands in a file; the server removes and renames some of its own meanwhile. */
function holdsSecret(file: string): boolean {
  try {
    return readFileSync(file).includes(secret);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

const setUp = [
  "CREATE TABLE item (id int GENERATED ALWAYS AS IDENTITY, name text UNIQUE)",
  `INSERT INTO item (name) SELECT '${secret}' || n FROM generate_series(1, 50) n`,
  "CREATE TABLE part (item text REFERENCES item (name), at date, UNIQUE (at, item)) PARTITION BY RANGE (at)",
  "CREATE TABLE part_old PARTITION OF part FOR VALUES FROM (MINVALUE) TO ('2020-01-01')",
  `INSERT INTO part VALUES ('${secret}1', '2019-01-01')`,
  "CREATE TABLE child () INHERITS (item)",
  `INSERT INTO child (id, name) OVERRIDING SYSTEM VALUE VALUES (1, '${secret}')`,
  "CREATE UNLOGGED TABLE unlogged AS SELECT name FROM item",
  "CREATE MATERIALIZED VIEW seen AS SELECT name FROM item",
  "CREATE MATERIALIZED VIEW seen_again AS SELECT name FROM seen",
  "CREATE SEQUENCE free START 5",
  "SELECT nextval('free') FROM generate_series(1, 10)",
  `SELECT lo_from_bytea(4711, '${secret}')`,
  "CREATE STATISTICS known (mcv) ON id, name FROM item",
  "ANALYZE",
  "CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'forbidden'; END $$",
  ...["armed", "off"].map((name) => `CREATE TRIGGER ${name} BEFORE TRUNCATE ON item EXECUTE FUNCTION forbid()`),
  "ALTER TABLE item DISABLE TRIGGER off",
  // An owner that has kept itself from emptying its own table, as of a log.
  "CREATE TABLE log AS SELECT name FROM item",
  "REVOKE TRUNCATE, DELETE ON log FROM app",
  // A table of another role, in a schema that nobody may use.
  "CREATE ROLE other",
  "GRANT other TO app",
  "CREATE SCHEMA closed",
  "CREATE TABLE closed.kept AS SELECT name FROM item",
  "GRANT ALL ON SCHEMA closed TO other",
  "ALTER TABLE closed.kept OWNER TO other",
  "REVOKE ALL ON SCHEMA closed FROM app, other",
];

/** In a database of such an encoding a name may have any bytes. */
const anyBytes = "ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'";
const namesThatAreNoText = `DO $$ BEGIN
  EXECUTE format('ALTER DATABASE odd RENAME TO %I', E'odd\\xff');
  EXECUTE format('CREATE ROLE %I', E'role\\xff');
  SET LOCAL client_min_messages = error;
  EXECUTE format('GRANT %I TO app', E'role\\xff');
  EXECUTE format('GRANT CREATE ON SCHEMA public TO %I', E'role\\xff');
  EXECUTE format('ALTER TABLE item OWNER TO %I', E'role\\xff');
END $$`;

/** Of data that comes from elsewhere: a table with rows in another server, which stay there. */
const elsewhere = `CREATE FOREIGN DATA WRAPPER none; CREATE SERVER elsewhere FOREIGN DATA WRAPPER none;
  CREATE SCHEMA apart CREATE TABLE near (name text); INSERT INTO apart.near VALUES ('${secret}');
  CREATE FOREIGN TABLE apart.far () INHERITS (apart.near) SERVER elsewhere;
  ALTER TABLE apart.near OWNER TO app; ALTER TABLE apart.far OWNER TO app; ALTER SCHEMA apart OWNER TO app`;

async function asSuperuser(): Promise<void> {
  const { socket } = serverSocket(rig.data);
  using client = await SqlClient.connect({ socket, user: "cloud_admin", password: "", database: "stock" });
  await client.query(elsewhere);
}

beforeAll(async () => {
  const pg_settings = { max_prepared_transactions: "5" };
  await rig.change("PATCH", `/projects/${project}/endpoints/${primary}`, { endpoint: { settings: { pg_settings } } });
  uri = await rig.uri();
  await rig.change("POST", `/projects/${project}/endpoints/${primary}/restart`);
  await rig.query(uri, ...setUp);
  await rig.query(uri, "CREATE DATABASE shut", "CREATE DATABASE mould IS_TEMPLATE true CONNECTION LIMIT 0");
  await rig.query(uri, "CREATE DATABASE odd", `CREATE DATABASE bytes TEMPLATE template0 ${anyBytes}`);
  for (const name of ["shut", "mould", "postgres", "odd", "bytes"]) {
    const inside = uri.replace("/stock?", `/${name}?`);
    await rig.query(uri, `ALTER DATABASE ${name} CONNECTION LIMIT -1`).catch(() => {});
    await rig.query(inside, `SELECT lo_from_bytea(4712, '${secret}')`);
    if (name !== "postgres") await rig.query(inside, `CREATE TABLE item AS SELECT '${secret}' AS name`);
  }
  await asSuperuser();
  before = await textOf(uri);
  schemaBefore = await schema(main);
  await rig.query(uri.replace("/stock?", "/bytes?"), namesThatAreNoText);
  await rig.query(
    uri,
    "ALTER DATABASE mould CONNECTION LIMIT 0",
    "ALTER DATABASE shut ALLOW_CONNECTIONS false CONNECTION LIMIT 7",
    "BEGIN",
    `INSERT INTO item (name) VALUES ('${secret} prepared')`,
    "LOCK TABLE log, item",
    "PREPARE TRANSACTION 'held'",
  );
  const { body } = await rig.call("POST", `/projects/${project}/branches`, {
    branch: { parent_id: main, init_source: "schema-only" },
    endpoints: [{ type: "read_write" }],
  });
  const [{ id } = { id: "" }] = z.array(z.looseObject({ id: z.string() })).parse(body["endpoints"]);
  await rig.settled();
  there = await rig.uri({ endpoint: id });
  databasesThere = await rig.query(there, databases);
});

const databases = `SELECT datname, datallowconn, datconnlimit, datistemplate FROM pg_database
  WHERE datname IN ('shut', 'mould') ORDER BY 1`;

/** All that clients can read of the data of a database, as text. */
const everything = `SELECT string_agg(found::text, E'\\n') AS text FROM (
  SELECT query_to_xml(format('SELECT * FROM %s', oid::regclass), true, false, '')::text FROM pg_class
    WHERE relkind IN ('r', 'p', 'S') AND relnamespace = 'public'::regnamespace
  UNION ALL SELECT to_json(s)::text FROM pg_stats s WHERE schemaname !~ '^pg_'
  UNION ALL SELECT to_json(s)::text FROM pg_stats_ext s
  UNION ALL SELECT encode(lo_get(oid), 'escape') FROM pg_largeobject_metadata
  UNION ALL SELECT gid FROM pg_prepared_xacts) found`;

/** The id of the schema-only branch. */
async function copy(): Promise<string> {
  const { body } = await rig.call("GET", `/projects/${project}/branches`);
  const branches = z.array(z.looseObject({ id: z.string(), init_source: z.string().optional() }));
  return branches.parse(body["branches"]).find(({ init_source }) => init_source === "schema-only")?.id ?? "";
}

async function schema(branch: string): Promise<unknown> {
  return (await rig.call("GET", `/projects/${project}/branches/${branch}/schema?db_name=stock`)).body["sql"];
}

async function textOf(at: string): Promise<string> {
  return z.string().parse((await rig.query(at, everything))[0]?.["text"] ?? "");
}

describe("a schema-only branch", () => {
  it("holds nothing of what clients can read of its parent: rows, statistics, large objects, transactions", async () => {
    expect(before).toContain(secret);
    const text = await textOf(there);
    expect(text).not.toContain(secret);
    expect(text).not.toContain("held");
  });

  it("holds as little where it stays a child of its parent, as init_source: parent-schema makes it", async () => {
    const { body } = await rig.call("POST", `/projects/${project}/branches`, {
      branch: { parent_id: main, init_source: "parent-schema" },
      endpoints: [{ type: "read_write" }],
    });
    expect(body["branch"]).toMatchObject({ parent_id: main, init_source: "parent-schema" });
    const [{ id } = { id: "" }] = z.array(z.looseObject({ id: z.string() })).parse(body["endpoints"]);
    await rig.settled();
    const child = await rig.uri({ endpoint: id });
    const text = await textOf(child);
    expect(text).not.toContain(secret);
    expect(text).not.toContain("held");
    expect(await rig.query(child, "SELECT count(*)::int AS count FROM item")).toEqual([{ count: 0 }]);
  });

  it("holds nothing of it in its files either, which a client that replicates may read", async () => {
    const places = readdirSync(`${rig.data}.postgres/branches`);
    const filesOf = (id: string) =>
      places
        .filter((name) => name.startsWith(`${id}.`))
        .flatMap((name) =>
          readdirSync(join(`${rig.data}.postgres/branches`, name), { recursive: true, withFileTypes: true }),
        )
        .filter((file) => file.isFile())
        .map((file) => join(file.parentPath, file.name))
        .filter(holdsSecret);
    expect(filesOf(main)).not.toEqual([]);
    expect(filesOf(await copy())).toEqual([]);
  });

  it("a schema-only branch has no mark of a segment that is not in its log, for which its history would wait", async () => {
    const id = await copy();
    const [data = ""] = readdirSync(`${rig.data}.postgres/branches`).filter((name) => name.startsWith(`${id}.`));
    const log = join(`${rig.data}.postgres/branches`, data, "pg_wal");
    const marked = readdirSync(join(log, "archive_status")).map((name) => name.replace(/\.(ready|done)$/, ""));
    expect(readdirSync(log)).toEqual(expect.arrayContaining(marked));
  });

  it("a schema-only branch has materialised views without data, and sequences that start again", async () => {
    const views = "SELECT matviewname, ispopulated FROM pg_matviews ORDER BY 1";
    expect(await rig.query(there, views)).toEqual([
      { matviewname: "seen", ispopulated: false },
      { matviewname: "seen_again", ispopulated: false },
    ]);
    expect(await rig.query(there, "SELECT nextval('free')::int AS n")).toEqual([{ n: 5 }]);
    expect(await rig.query(there, "INSERT INTO item (name) VALUES ('new') RETURNING id")).toEqual([{ id: 1 }]);
  });

  it("a schema-only branch has no rows in tables of other roles, in schemas that nobody may use, and in tables that keep their owner out", async () => {
    const open = "GRANT USAGE ON SCHEMA closed TO app";
    expect(
      await rig.query(
        there,
        open,
        "SELECT name FROM closed.kept UNION SELECT name FROM log UNION SELECT name FROM ONLY apart.near",
      ),
    ).toEqual([]);
  });

  it("a schema-only branch has no rows in databases that are closed to connections, and large objects in none", async () => {
    await rig.query(there, "ALTER DATABASE shut ALLOW_CONNECTIONS true", "ALTER DATABASE mould CONNECTION LIMIT -1");
    const [odd] = await rig.query(there, "SELECT datname FROM pg_database WHERE datname LIKE 'database\\_%'");
    for (const name of ["shut", "mould", "postgres", "bytes", String(odd?.["datname"])]) {
      const inside = there.replace("/stock?", `/${name}?`);
      expect([name, await rig.query(inside, "SELECT oid FROM pg_largeobject_metadata")]).toEqual([name, []]);
      const rows =
        "SELECT query_to_xml('TABLE item', true, false, '')::text AS rows WHERE to_regclass('item') IS NOT NULL";
      expect(JSON.stringify(await rig.query(inside, rows))).not.toContain(secret);
    }
  });

  it("a schema-only branch has its parent's schema and rights", async () => {
    await rig.query(there, "REVOKE ALL ON SCHEMA closed FROM app");
    expect(schemaBefore).toContain("CREATE TABLE closed.kept");
    expect(await schema(await copy())).toBe(schemaBefore);
    expect(databasesThere).toEqual(await rig.query(uri, databases));
  });
});
