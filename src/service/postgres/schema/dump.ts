import { madeOnce } from "../../made-once.ts";
import type { SqlClient, TextRow } from "../session/sql-client.ts";
import { apartSetting, isApart, type Kind } from "./kind.ts";
import { dependencies, needsOf, walk } from "./needs.ts";
import { publicationsAndEvents } from "./publications.ts";
import { relationKinds } from "./relations.ts";
import { rulesOfTables } from "./rules-of-tables.ts";
import { each, Steps } from "./steps.ts";
import { typesAndFunctions } from "./types-and-functions.ts";

/** One object of a schema, with its statements. */
interface SchemaObject {
  id: string;
  rank: number;
  type: string;
  schema: string;
  name: string;
  owner: string;
  statements: string;
}

/** A lock of a client's must not hold the branch up for long. */
const settings = `SET LOCAL search_path = pg_catalog; SET LOCAL client_encoding = UTF8; SET LOCAL quote_all_identifiers = off;
  SET LOCAL lock_timeout = '5s'; SET LOCAL statement_timeout = '30s'`;

const kinds: readonly Kind[] = [...typesAndFunctions, ...relationKinds, ...rulesOfTables, ...publicationsAndEvents];

/**
 * Writes the schema of a database as SQL, in the words and the order of `pg_dump --schema-only`, which the packages
 * with Postgres do not have. All in one moment; names are resolved in `pg_catalog` alone, so no object of a client's
 * is called. Left out: operators, casts, conversions, text search, foreign servers, subscriptions, rights on columns,
 * default privileges, rights on languages, and the types of typed tables.
 */
export async function dumpSchema(client: Pick<SqlClient, "query">): Promise<string> {
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  await client.query(settings);
  const [version] = await client.query("SHOW server_version");
  const { needed, apart } = await needsOf(await client.query(dependencies));
  await client.query(`SET LOCAL ${apartSetting} = '{${[...apart].join()}}'`);
  const objects: SchemaObject[] = [];
  for (const { rank, query } of kinds) {
    // In order, so that little is left to sort in a turn of the loop.
    const rows = await client.query(
      `SELECT * FROM (${query}) o (id, type, schema, name, owner, statements) ORDER BY schema COLLATE "C", name COLLATE "C"`,
    );
    await each(rows, (row) => objects.push(objectOf(rank, row)));
  }
  const known = new Set<string>();
  await each(objects, ({ id }) => known.add(id));
  const sorted = await inOrder(objects, needed);
  const firstTable = sorted.find(({ type }) => type === "TABLE");
  const comments = await byObject(await client.query(commentQuery));
  const written: string[] = [];
  const steps = new Steps();
  for (const object of sorted) {
    if (object === firstTable) written.push(tableDefaults);
    written.push(block(object));
    await steps.next();
    for (const [, name, text] of comments.get(object.id) ?? []) {
      written.push(block({ ...object, type: "COMMENT", name: name ?? "", statements: text ?? "" }));
      await steps.next();
    }
  }
  await each(await client.query(rightsQuery), (row) => {
    if (row[0] === publicSchema || known.has(row[0] ?? "")) written.push(block(objectOf(0, row)));
  });
  await client.query("COMMIT");
  return `${header(version?.[0] ?? "")}${written.join("")}--\n-- PostgreSQL database dump complete\n--\n\n`;
}

/** Rows by the id of an object, with which each begins. */
async function byObject(rows: readonly TextRow[]): Promise<Map<string, TextRow[]>> {
  const found = new Map<string, TextRow[]>();
  await each(rows, (row) => madeOnce(found, row[0] ?? "", () => []).push(row));
  return found;
}

function objectOf(rank: number, row: TextRow): SchemaObject {
  const [id = "", type = "", schema = "", name = "", owner = "", statements = ""] = row.map((column) => column ?? "");
  return { rank, id, type, schema, name, owner, statements };
}

/** By kind and name, but what another needs before it. */
async function inOrder(
  objects: readonly SchemaObject[],
  needed: ReadonlyMap<string, readonly string[]>,
): Promise<SchemaObject[]> {
  const keys = new Map<SchemaObject, string>();
  await each(objects, (one) => keys.set(one, `${String(one.rank).padStart(3, "0")}\0${one.schema}\0${one.name}`));
  const place = new Map<string, number>();
  const byId = new Map<string, SchemaObject>();
  await each(
    objects.toSorted((one, other) => compare(keys.get(one) ?? "", keys.get(other) ?? "")),
    (one) => {
      place.set(one.id, place.size);
      byId.set(one.id, one);
    },
  );
  const neededBy = (id: string) =>
    (needed.get(id) ?? [])
      .filter((other) => byId.has(other))
      .toSorted((one, other) => (place.get(one) ?? 0) - (place.get(other) ?? 0));
  const sorted: SchemaObject[] = [];
  await walk(place.keys(), neededBy, (id) => sorted.push(...[byId.get(id) ?? []].flat()));
  return sorted;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function block({ type, schema, name, owner, statements }: SchemaObject): string {
  // A pattern would look through a client's long line again from each place where it begins to match.
  const title = oneLine(`Name: ${name}; Type: ${type}; Schema: ${schema}; Owner: ${owner}`);
  const last = statements.slice(statements.lastIndexOf("\n") + 1);
  const end = last.includes("OWNER TO ") && last.endsWith(";") ? "\n\n" : "\n\n\n";
  return `--\n-- ${title}\n--\n\n${statements}${end}`;
}

/** Text without its line breaks: psql would run all lines of a name but the first. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, " ");
}

function header(version: string): string {
  const given = [
    "SET statement_timeout = 0;",
    "SET lock_timeout = 0;",
    "SET idle_in_transaction_session_timeout = 0;",
    ...(Number.parseInt(version, 10) >= 17 ? ["SET transaction_timeout = 0;"] : []),
    "SET client_encoding = 'UTF8';",
    "SET standard_conforming_strings = on;",
    "SELECT pg_catalog.set_config('search_path', '', false);",
    "SET check_function_bodies = false;",
    "SET xmloption = content;",
    "SET client_min_messages = warning;",
    "SET row_security = off;",
  ];
  const title = `--\n-- PostgreSQL database dump\n--\n\n-- Dumped from database version ${version}\n-- Dumped by compute-operator\n\n`;
  return `${title}${given.join("\n")}\n\n`;
}

const tableDefaults = "SET default_tablespace = '';\n\nSET default_table_access_method = heap;\n\n";

const publicSchema = "public schema";

/** The object, the comment's name, and its statement. */
const commentQuery = `SELECT CASE WHEN relkind = 'c' THEN 'pg_type/' || reltype WHEN x.oid IS NOT NULL THEN 'pg_constraint/' || x.oid
      WHEN d.convalidated AND NOT ${isApart("pg_constraint", "d.oid")} THEN
        CASE WHEN d.contypid <> 0 THEN 'pg_type/' || d.contypid WHEN d.contype IN ('c', 'n') THEN 'pg_class/' || d.conrelid
          ELSE 'pg_constraint/' || d.oid END
      ELSE classoid::regclass || '/' || objoid END,
    kind || ' ' || CASE WHEN nspname IS NULL THEN identity ELSE replace(identity, quote_ident(nspname) || '.', '') END,
    format('COMMENT ON %s %s IS %L;', kind, identity, description)
  FROM pg_description LEFT JOIN pg_class c ON classoid = 'pg_class'::regclass AND c.oid = objoid
    LEFT JOIN pg_constraint d ON classoid = 'pg_constraint'::regclass AND d.oid = objoid
    LEFT JOIN pg_constraint x ON x.conindid = c.oid AND x.contype IN ('p', 'u', 'x'),
    LATERAL pg_identify_object(classoid, objoid, objsubid) o(type, nspname, objname, shown),
    LATERAL (SELECT CASE WHEN type LIKE '% column' THEN 'COLUMN' WHEN type LIKE '% constraint' THEN 'CONSTRAINT'
        WHEN type = 'statistics object' THEN 'STATISTICS' ELSE upper(type) END AS kind,
      CASE WHEN d.contypid <> 0 THEN format('%I ON DOMAIN %s', d.conname, d.contypid::regtype)
        WHEN type = 'aggregate' THEN regexp_replace(shown, '\\(\\)$', '(*)') ELSE shown END AS identity) k
  ORDER BY classoid, d.conname, objoid, objsubid`;

/** As pg_dump orders them. */
const ordered =
  "ARRAY['USAGE', 'CREATE', 'SELECT', 'INSERT', 'REFERENCES', 'DELETE', 'TRIGGER', 'TRUNCATE', 'MAINTAIN', 'UPDATE', 'EXECUTE']";

/**
 * A list of rights as it is without compression. Postgres takes a long one apart again for each right in it: of 10,000
 * roles that takes 18 s.
 */
const inMemory = (acl: string) => `CASE WHEN ${acl} IS NOT NULL THEN ${acl} || '{}' END`;

/** Rights that an owner has given: of each object and role, all in one statement. */
const rightsQuery = `WITH given AS (
    SELECT 'pg_class/' || oid AS id, relnamespace AS space, CASE relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind,
      relname AS name, oid::regclass::text AS target, relowner AS owner, ${inMemory("relacl")} AS acl,
      acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner) AS usual FROM pg_class
    UNION ALL SELECT 'pg_proc/' || oid, pronamespace, CASE prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END,
      format('%I(%s)', proname, pg_get_function_identity_arguments(oid)), oid::regprocedure::text, proowner, ${inMemory("proacl")},
      acldefault('f', proowner) FROM pg_proc
    UNION ALL SELECT 'pg_type/' || oid, typnamespace, 'TYPE', typname, oid::regtype::text, typowner, ${inMemory("typacl")},
      acldefault('T', typowner) FROM pg_type
    UNION ALL SELECT CASE nspname WHEN 'public' THEN '${publicSchema}' ELSE 'pg_namespace/' || oid END, oid, 'SCHEMA', nspname,
      quote_ident(nspname), nspowner, ${inMemory("nspacl")}, CASE nspname WHEN 'public' THEN
        (SELECT initprivs FROM pg_init_privs p WHERE p.objoid = s.oid AND p.classoid = 'pg_namespace'::regclass)
        ELSE acldefault('n', nspowner) END FROM pg_namespace s
  )
  SELECT id, 'ACL', CASE kind WHEN 'SCHEMA' THEN '-' ELSE nspname END, kind || ' ' || name, rolname, concat_ws(E'\\n',
      CASE WHEN revoked THEN format('REVOKE ALL ON %s %s FROM PUBLIC;', kind, target) END,
      CASE WHEN lacks THEN format('REVOKE ALL ON %s %s FROM %I;', kind, target, rolname) END, grants)
  FROM given JOIN pg_namespace n ON n.oid = space JOIN pg_roles r ON r.oid = owner, LATERAL (
      SELECT EXISTS (SELECT FROM aclexplode(usual) u WHERE u.grantee = 0
          AND NOT EXISTS (SELECT FROM aclexplode(acl) a WHERE a.grantee = 0 AND a.privilege_type = u.privilege_type)) AS revoked,
        (SELECT count(*) FROM aclexplode(acl) a WHERE a.grantee = owner)
          < (SELECT count(*) FROM aclexplode(usual) u WHERE u.grantee = owner) AS lacks
    ) taken, LATERAL (
      SELECT string_agg(format('GRANT %s ON %s %s TO %s%s;',
          CASE WHEN rights = (SELECT count(*) FROM aclexplode(usual) u WHERE u.grantee = owner) THEN 'ALL' ELSE list END, kind, target,
          CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
          CASE WHEN grantable THEN ' WITH GRANT OPTION' END), E'\\n' ORDER BY pg_get_userbyid(grantee), grantable) AS grants
      FROM (SELECT grantee, count(*) AS rights, is_grantable AS grantable,
          string_agg(privilege_type, ',' ORDER BY array_position(${ordered}, privilege_type)) AS list
        FROM aclexplode(acl) a WHERE (grantee <> owner OR lacks)
          AND NOT (grantee = 0 AND NOT revoked AND EXISTS (SELECT FROM aclexplode(usual) u
            WHERE u.grantee = 0 AND u.privilege_type = a.privilege_type))
        GROUP BY grantee, is_grantable) one
    ) given_to
  WHERE acl IS NOT NULL AND (revoked OR lacks OR grants IS NOT NULL) ORDER BY nspname, kind, name`;
