import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { programPath } from "../../support/debian.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { runProgram } from "../../support/run-program.ts";
import { CreatedBranch, main, PostgresRig, primary, project, seed, serverSocket } from "./rig.ts";
import { usePostgresRig } from "./use-rig.ts";

const rich = readFileSync(join(import.meta.dirname, "rich-schema.sql"), "utf8");
const needs = readFileSync(join(import.meta.dirname, "needs-of-schema.sql"), "utf8");
const schemaPath = (branch: string) => `/projects/${project}/branches/${branch}`;

const rig = usePostgresRig();
let uri: string;
beforeAll(async () => {
  uri = await rig.uri();
  await rig.query(uri, "CREATE ROLE reader", rich);
});

async function schema(one: PostgresRig, branch = main, database = "stock"): Promise<string> {
  const { status, body } = await one.call("GET", `${schemaPath(branch)}/schema?db_name=${database}`);
  expect([status, body["message"]]).toEqual([200, undefined]);
  return z.string().parse(body["sql"]);
}

/** The schema of a database with these objects, which a database made of it has too. */
async function copied(name: string, statements: string): Promise<string> {
  for (const one of [name, `${name}_again`])
    await rig.change("POST", `${schemaPath(main)}/databases`, { database: { name: one, owner_name: "app" } });
  await rig.query(await rig.uri({ database: name }), statements);
  const sql = await schema(rig, main, name);
  await rig.query(await rig.uri({ database: `${name}_again` }), sql);
  expect(await schema(rig, main, `${name}_again`)).toBe(sql);
  return sql;
}

/** Objects with what is easily lost of them. */
const details = `CREATE TABLE noted (a integer PRIMARY KEY, CONSTRAINT low CHECK (a < 9), CONSTRAINT high CHECK (a > 1));
  COMMENT ON CONSTRAINT low ON noted IS 'kept';
  COMMENT ON CONSTRAINT high ON noted IS 'kept';
  COMMENT ON CONSTRAINT noted_pkey ON noted IS 'kept';
  COMMENT ON INDEX noted_pkey IS 'kept';
  COMMENT ON SCHEMA public IS 'kept';
  REVOKE USAGE ON SCHEMA public FROM PUBLIC;
  GRANT USAGE ON SCHEMA public TO reader;
  GRANT SELECT ON noted TO reader;
  GRANT INSERT ON noted TO reader WITH GRANT OPTION;
  CREATE AGGREGATE moving(integer) (SFUNC = int4pl, STYPE = integer, SSPACE = 9, FINALFUNC = int4abs, COMBINEFUNC = int4pl,
    MSFUNC = int4pl, MINVFUNC = int4mi, MSTYPE = integer, MINITCOND = '0', MFINALFUNC = int4abs, PARALLEL = safe);
  CREATE AGGREGATE largest(integer) (SFUNC = int4larger, STYPE = integer, SORTOP = >)`;

describe("the schema of a database", () => {
  it("holds all that makes it again, so that its copy has the same one", async () => {
    const sql = await schema(rig);
    await rig.change("POST", `${schemaPath(main)}/databases`, { database: { name: "again", owner_name: "app" } });
    await rig.query(await rig.uri({ database: "again" }), sql);
    expect(await schema(rig, main, "again")).toBe(sql);
  });

  it("all that an object needs comes before it, so that a copy of the schema can be made, also of a circle", async () => {
    expect(await copied("needs", needs)).toContain("ALTER TABLE ONLY public.row_default ALTER COLUMN b SET DEFAULT ");
  });

  it("comments on parts of a table, rights on schema public, and each part of an aggregate are kept", async () => {
    const sql = await copied("details", details);
    for (const kept of [/^COMMENT ON .* IS 'kept';$/gm, /^(REVOKE ALL|GRANT USAGE) ON SCHEMA public .*;$/gm])
      expect(sql.match(kept)).toHaveLength(kept.source.includes("COMMENT") ? 5 : 2);
    expect(sql).toContain(
      "\n    MSFUNC = int4pl,\n    MINVFUNC = int4mi,\n    MSTYPE = integer,\n    MINITCOND = '0',\n",
    );
    expect(sql.match(/^GRANT (SELECT|INSERT) ON TABLE public.noted TO reader.*;$/gm)).toEqual([
      "GRANT SELECT ON TABLE public.noted TO reader;",
      "GRANT INSERT ON TABLE public.noted TO reader WITH GRANT OPTION;",
    ]);
  });

  it("a schema is read without a compute, and starts none", async () => {
    const before = await schema(rig);
    const [operation] = await rig.change("POST", `/projects/${project}/endpoints/${primary}/suspend`);
    expect(operation).toMatchObject({ action: "suspend_compute", status: "finished" });
    expect(await schema(rig)).toBe(before);
    expect(await rig.endpoint()).toMatchObject({ current_state: "idle" });
    expect(await rig.query(uri, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  it("a schema is read of a database that the API made or renamed while the branch had no compute", async () => {
    const made = await rig.call("POST", `/projects/${project}/branches`, {});
    const { id } = z.looseObject({ id: z.string() }).parse(made.body["branch"]);
    await rig.settled();
    await rig.change("POST", `${schemaPath(id)}/databases`, { database: { name: "later", owner_name: "app" } });
    await rig.change("PATCH", `${schemaPath(id)}/databases/stock`, { database: { name: "goods" } });
    expect(await schema(rig, id, "later")).not.toContain("CREATE TABLE");
    expect(await schema(rig, id, "goods")).toBe(await schema(rig));
  });

  it("calls nothing of a client's that has the name of something of Postgres's", async () => {
    const before = await schema(rig);
    await rig.query(
      uri,
      "CREATE SCHEMA trap",
      "CREATE FUNCTION trap.quote_ident(name) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$",
      "CREATE FUNCTION trap.same(oid, oid) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$",
      "CREATE OPERATOR trap.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = trap.same)",
      "CREATE VIEW trap.pg_class AS SELECT * FROM pg_catalog.pg_class WHERE relpages / 0 = 1",
      "ALTER DATABASE stock SET search_path = trap, pg_catalog",
    );
    expect(await schema(rig)).toContain("CREATE FUNCTION trap.same(oid, oid)");
    await rig.query(uri, "ALTER DATABASE stock RESET search_path", "DROP SCHEMA trap CASCADE");
    expect(await schema(rig)).toBe(before);
  });

  it("the schema is the same whatever settings its compute has", async () => {
    const before = await schema(rig);
    const told = { client_min_messages: "debug5", debug_print_plan: "on", debug_print_parse: "on" };
    const settings = { pg_settings: { quote_all_identifiers: "on", ...told } };
    await rig.change("PATCH", `/projects/${project}/endpoints/${primary}`, { endpoint: { settings } });
    expect(await rig.query(uri, "SHOW quote_all_identifiers")).toEqual([{ quote_all_identifiers: "on" }]);
    expect(await schema(rig)).toBe(before);
  });

  it("the rights of 10,000 roles on one object take no more time than as many on others", async () => {
    await rig.query(uri, "CREATE SCHEMA listed", "GRANT USAGE ON SCHEMA listed TO reader");
    await asSuperuser(
      rig,
      `UPDATE pg_namespace SET nspacl = nspacl || ARRAY(SELECT makeaclitem((1000000 + i)::oid, nspowner, 'USAGE', false)
        FROM generate_series(1, 10000) i) WHERE nspname = 'listed'`,
    );
    const granted = (await schema(rig)).match(/^GRANT USAGE ON SCHEMA listed TO .*;$/gm);
    expect([granted?.length, granted?.at(0)]).toEqual([10_001, "GRANT USAGE ON SCHEMA listed TO reader;"]);
    await rig.query(uri, "DROP SCHEMA listed");
  });

  it("waits for no client's lock for long", async () => {
    const client = await rig.client(uri);
    await client.query("BEGIN");
    await client.query("LOCK TABLE customer");
    const { status, body } = await rig.call("GET", `${schemaPath(main)}/schema?db_name=stock`);
    expect([status, body["message"]]).toEqual([503, expect.stringMatching(/cannot be read now: .*lock timeout/)]);
    await client.query("ROLLBACK");
    await client.end();
  });
});

describe("two branches", () => {
  it("two branches are compared by the unmodified neonctl, and by the API", async () => {
    const made = await rig.call("POST", `/projects/${project}/branches`, {
      branch: { name: "dev" },
      endpoints: [{ type: "read_write" }],
    });
    const [{ id: endpoint } = { id: "" }] = z.array(z.looseObject({ id: z.string() })).parse(made.body["endpoints"]);
    const { id } = z.looseObject({ id: z.string() }).parse(made.body["branch"]);
    await rig.settled();
    expect((await rig.call("GET", `${schemaPath(id)}/compare_schema?db_name=stock`)).body).toEqual({ diff: "" });
    const there = `${schemaPath(id)}/roles/app/reveal_password`;
    const password = z.string().parse((await rig.call("GET", there)).body["password"]);
    const branchURI = `postgresql://app:${password}@${rig.address}/stock?options=endpoint%3D${endpoint}`;
    await rig.query(branchURI, "ALTER TABLE customer ADD COLUMN phone text");
    const { body } = await rig.call("GET", `${schemaPath(id)}/compare_schema?db_name=stock`);
    expect(body["diff"]).toMatch(/^--- a\/stock\n\+\+\+ b\/stock\n@@ [^\n]+ @@\n/);
    expect(body["diff"]).toContain("\n+    phone text,\n");
    const printed = await neonctl("branches", "schema-diff", "main", "dev", "--database", "stock");
    expect(printed).toContain("+    phone text,");
    expect(printed).toContain(`(Branch: ${main})`);
  });

  it("two branches that differ in 30,000 lines are not compared, and others are answered meanwhile", async () => {
    const made = await rig.call("POST", `/projects/${project}/branches`, { endpoints: [{ type: "read_write" }] });
    const { branch, endpoints } = CreatedBranch.parse(made.body);
    await rig.settled();
    const secret = `${schemaPath(branch.id)}/roles/app/reveal_password`;
    const password = z.string().parse((await rig.call("GET", secret)).body["password"]);
    const there = `postgresql://app:${password}@${rig.address}/stock?options=endpoint%3D${endpoints[0]?.id}`;
    const lines = (word: string) => Array.from({ length: 30_000 }, (_, at) => `-- ${word} ${at}`).join("\n");
    const long = (word: string) => `CREATE FUNCTION long() RETURNS int LANGUAGE sql AS $$ SELECT 1\n${lines(word)} $$`;
    await rig.query(uri, long("here"));
    await rig.query(there, long("there"));
    const ends: number[] = [];
    const compared = rig.call("GET", `${schemaPath(branch.id)}/compare_schema?db_name=stock`);
    void compared.then(({ status }) => ends.push(status));
    let answered = 0;
    while (ends.length === 0) {
      expect((await fetch(`http://${rig.serviceAddress}/healthz`)).status).toBe(200);
      answered += 1;
    }
    // On the loop, the comparison leaves room for none of them.
    expect(answered).toBeGreaterThan(20);
    const { status, body } = await compared;
    expect([status, body["message"]]).toEqual([422, expect.stringMatching(/schemas differ in more than 5000 lines/)]);
    await rig.query(uri, "DROP FUNCTION long");
  });

  it("a schema that is larger than the service holds is refused, in one object and in many", async () => {
    const functionOf = (name: string, bytes: number) =>
      `CREATE FUNCTION ${name}() RETURNS text LANGUAGE sql AS $$ SELECT '${"x".repeat(bytes)}' $$`;
    const names = Array.from({ length: 90 }, (_, at) => `many_${at}`);
    for (const [make, drop] of [
      [[functionOf("huge", 9_000_000)], ["DROP FUNCTION huge"]],
      [names.map((name) => functionOf(name, 100_000)), names.map((name) => `DROP FUNCTION ${name}`)],
    ] as const) {
      await rig.query(uri, ...make);
      const { status, body } = await rig.call("GET", `${schemaPath(main)}/schema?db_name=stock`);
      expect([status, body["message"]]).toEqual([
        422,
        expect.stringMatching(/larger than 8 MiB: read it with pg_dump/),
      ]);
      await rig.query(uri, ...drop);
    }
    expect(await schema(rig)).not.toMatch(/huge|many_/);
  });

  it("a schema is read no further for a caller that has left, and the branch is free", async () => {
    const client = await rig.client(uri);
    await client.query("BEGIN");
    await client.query("LOCK TABLE customer");
    const leaving = new AbortController();
    const url = `http://${rig.serviceAddress}/api/v2${schemaPath(main)}/schema?db_name=stock`;
    const left = fetch(url, { headers: { authorization: "Bearer ana-key" }, signal: leaving.signal }).catch(
      () => "left",
    );
    const waits = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = 'cloud_admin' AND wait_event_type = 'Lock'`;
    const waiting = () => rig.query(uri, waits);
    await expect.poll(waiting).toEqual([{ n: 1 }]);
    leaving.abort();
    expect(await left).toBe("left");
    await expect.poll(waiting).toEqual([{ n: 0 }]);
    await client.query("ROLLBACK");
    await client.end();
  });
});

describe("beside pg_dump", () => {
  it("a schema has the same statements as pg_dump's, and those of types and tables in the same order", async () => {
    const pgDump = await programPath({
      purpose: "The comparison of schemas needs pg_dump of Postgres 15",
      variable: "PG_DUMP",
      path: "/usr/lib/postgresql/15/bin/pg_dump",
      package: "postgresql-15",
    });
    const older = { ...seed, projects: seed.projects.map((one) => ({ ...one, pgVersion: 15 })) };
    await using fifteen = await PostgresRig.start(["--postgres-bin", dirname(pgDump)], older);
    const there = await fifteen.uri();
    await fifteen.change("POST", `${schemaPath(main)}/roles`, { role: { name: "reader", no_login: true } });
    await fifteen.query(there, rich);
    await asSuperuser(fifteen, superusers);
    const { status, stdout, stderr } = await runProgram(pgDump, ["--schema-only", there]);
    expect([status, stderr]).toEqual([0, ""]);
    const ours = comparable(await schema(fifteen));
    expect(ours).toEqual(comparable(stdout));
    expect(ours.length).toBeGreaterThan(40);
  });
});

/** Objects that only a superuser makes: data that comes from elsewhere may have them. */
const superusers = `CREATE PUBLICATION everything FOR ALL TABLES;
  CREATE PUBLICATION spaces FOR TABLES IN SCHEMA shop, public, TABLE base;
  CREATE FUNCTION shop.watch() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END';
  CREATE EVENT TRIGGER watched ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'DROP TABLE') EXECUTE FUNCTION shop.watch();
  CREATE EVENT TRIGGER off ON sql_drop EXECUTE FUNCTION shop.watch();
  ALTER EVENT TRIGGER off DISABLE;
  CREATE COLLATION borrowed (provider = libc, locale = 'C');
  ALTER EXTENSION plpgsql ADD COLLATION borrowed`;

/** Runs statements in the database `stock` of the only server that runs, as the service's own role on its socket. */
async function asSuperuser(one: PostgresRig, statements: string): Promise<void> {
  const { host, port } = serverSocket(one.data);
  const login = { host, port, user: "cloud_admin", database: "stock" };
  const client = await one.client("", login);
  await client.query(statements);
  await client.end();
}

/**
 * The statements of a dump but functions, which both write in their own way. Newer versions of pg_dump name the kind of
 * an object that gets an owner. What follows tables is sorted.
 */
function comparable(dump: string): string[] {
  const blocks = dump
    .replace(/^--\n-- PostgreSQL database dump complete.*/ms, "")
    .split(/^--\n-- Name: /m)
    .slice(1)
    .filter((block) => !/; Type: (FUNCTION|PROCEDURE|AGGREGATE);/.test(block))
    .map((block) => block.replaceAll(/^ALTER [A-Z ]+ (\S+) OWNER TO/gm, "ALTER $1 OWNER TO").trimEnd())
    .map((block) => block.replaceAll(/\n{2,}/g, "\n"));
  const after = blocks.findIndex((block) => block.includes("; Type: CONSTRAINT;"));
  return [...blocks.slice(0, after), ...blocks.slice(after).toSorted()];
}

async function neonctl(...args: string[]): Promise<string> {
  const cli = join(dirname(createRequire(import.meta.url).resolve("neonctl/package.json")), "..", ".bin", "neonctl");
  const directory = temporaryDirectory("neonctl");
  const flags = ["--api-host", `http://${rig.serviceAddress}/api/v2`, "--project-id", project];
  const env = { PATH: process.env["PATH"], HOME: directory.path, NEON_API_KEY: "ana-key", CI: "1" };
  const { status, stdout, stderr } = await runProgram(
    cli,
    [...args, ...flags, "--no-analytics", "--no-color", "--config-dir", directory.path],
    { env },
  );
  directory.remove();
  if (status !== 0) throw new Error(stderr || stdout);
  return stdout;
}
