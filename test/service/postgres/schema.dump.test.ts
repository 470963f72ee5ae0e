import { expect, it } from "vitest";
import { dumpSchema } from "../../../src/service/postgres/schema/dump.ts";
import { needsOf } from "../../../src/service/postgres/schema/needs.ts";

type Row = readonly string[];

/** The schema of a database with these views, tables and needs of one by another. */
function dump(views: readonly Row[], needs: readonly Row[], tables: readonly Row[] = []): Promise<string> {
  const answers = (sql: string): readonly Row[] => {
    if (sql.startsWith("SHOW server_version")) return [["17.0"]];
    if (sql.startsWith("WITH named")) return needs;
    if (sql.includes("relkind = 'v'")) return views;
    return sql.includes("relkind IN ('r', 'p')") ? tables : [];
  };
  return dumpSchema({ query: (sql) => Promise.resolve(answers(sql)) });
}

const objectOf = (type: string) => (at: number) => {
  const name = `${type.toLowerCase()}_${String(at).padStart(6, "0")}`;
  return [`pg_class/${type}${at}`, type, "public", name, "app", `CREATE ${type} ${name};`];
};
const many = (count: number, type: string) => Array.from({ length: count }, (_, at) => objectOf(type)(at));

it("a chain of 30,000 views, each of which needs the next, is written from its end", async () => {
  const count = 30_000;
  const needs = Array.from({ length: count - 1 }, (_, at) => [`pg_class/VIEW${at}`, `pg_class/VIEW${at + 1}`]);
  const written = [...(await dump(many(count, "VIEW"), needs)).matchAll(/^CREATE VIEW view_(\d+)/gm)];
  expect(written.map(([, at]) => Number(at))).toEqual(Array.from({ length: count }, (_, at) => count - 1 - at));
});

it("views that need each other in a circle are each written once", async () => {
  const needs = [0, 1, 2].map((at) => [`pg_class/VIEW${at}`, `pg_class/VIEW${(at + 1) % 3}`]);
  const written = [...(await dump(many(3, "VIEW"), needs)).matchAll(/^CREATE VIEW view_(\d+)/gm)];
  expect(written.map(([, at]) => Number(at))).toEqual([2, 1, 0]);
});

it("a table's default stands apart from it where the default needs the table, and else is in its statement", async () => {
  const owner = (table: string, part: string) => [`pg_attrdef/${part}`, `pg_class/${table}`, "t"];
  const rows = [
    owner("one", "1"),
    ["pg_attrdef/1", "pg_class/sequence", "f"],
    ["pg_class/sequence", "pg_class/one", "f"],
    owner("other", "2"),
    ["pg_attrdef/2", "pg_class/sequence", "f"],
  ];
  const { needed, apart } = await needsOf(rows);
  expect([...apart]).toEqual(["pg_attrdef/1"]);
  expect(["class/one", "attrdef/1", "class/other"].map((id) => needed.get(`pg_${id}`))).toEqual([
    [],
    ["pg_class/sequence", "pg_class/one"],
    ["pg_class/sequence"],
  ]);
});

it("what a view needs is written in the order of names, whatever order the server tells it in", async () => {
  const needs = [2, 1].map((at) => ["pg_class/VIEW0", `pg_class/VIEW${at}`]);
  const written = [...(await dump(many(3, "VIEW"), needs)).matchAll(/^CREATE VIEW view_(\d+)/gm)];
  expect(written.map(([, at]) => Number(at))).toEqual([1, 2, 0]);
});

it("the defaults of tables stand once, before the first of 20,000 tables that come after as many views", async () => {
  const needs = [["pg_class/TABLE0", "pg_class/VIEW1"]];
  const sql = await dump(many(20_000, "VIEW"), needs, many(20_000, "TABLE"));
  expect(sql.match(/SET default_tablespace/g)).toHaveLength(1);
  expect(sql.indexOf("SET default_tablespace")).toBeLessThan(sql.indexOf("CREATE TABLE"));
});

it("a client's text that says OWNER TO many times is written in no more time than its characters take", async () => {
  const text = "OWNER TO ".repeat(50_000);
  const before = process.cpuUsage();
  const sql = await dump(
    [["pg_class/1", "VIEW", "public", "long", "app", `CREATE VIEW long AS SELECT '${text}\n';`]],
    [],
  );
  expect(sql).toContain(text);
  // Half a minute, where each of them is a place at which the end of the line is looked for.
  expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
});

it("a schema of many objects is written in many turns of the loop, also where all are one chain", async () => {
  const count = 20_000;
  const needs = Array.from({ length: count - 1 }, (_, at) => [`pg_class/VIEW${at}`, `pg_class/VIEW${at + 1}`]);
  let turns = 0;
  const countTurn = () => {
    turns += 1;
    next = setImmediate(countTurn);
  };
  let next = setImmediate(countTurn);
  await dump(many(count, "VIEW"), needs);
  clearImmediate(next);
  // In one turn, all of 80,000 objects take more than half a second. Each is gone over almost eight times.
  expect(turns).toBeGreaterThan((7.5 * count) / 1000);
});

it("a name with several lines has one in the comment above its statements: psql would run the others", async () => {
  const lines = "x\r\nDROP TABLE y; --\n\\! touch z";
  const sql = await dump([["pg_class/1", "VIEW", lines, lines, lines, "CREATE VIEW v AS SELECT 1;"]], []);
  expect(sql).toContain(
    "-- Name: x  DROP TABLE y; -- \\! touch z; Type: VIEW; Schema: x  DROP TABLE y; -- \\! touch z; Owner: x  DROP TABLE y; -- \\! touch z\n--\n",
  );
  expect(sql).not.toMatch(/^(DROP|\\)/m);
});
