import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dumpSchema } from "../../../src/service/postgres/schema/dump.ts";
import { ServiceOnFakes } from "./fake/fake-service.ts";
import type { Rows } from "./fake/fake-sql.ts";
import { main, primary, project } from "./rig.ts";

/** The type of object that a query is for: the first word in capitals that it answers. */
function typeOf(sql: string): string | undefined {
  if (!sql.startsWith("SELECT")) return undefined;
  return /'([A-Z][A-Z ]*[A-Z])'/.exec(sql)?.[1];
}

/** The schema of a database with one object of each type, and the statements that read it. */
async function dumped(answers: (sql: string) => Rows | undefined = () => undefined, version = "17.2") {
  const asked: string[] = [];
  const query = (sql: string) => {
    asked.push(sql);
    if (sql === "SHOW server_version") return Promise.resolve([[version]]);
    const type = typeOf(sql);
    const usual = type === undefined ? [] : [[`id of ${type}`, type, "shop", "thing", "app", `CREATE ${type};`]];
    return Promise.resolve(answers(sql) ?? usual);
  };
  return { sql: await dumpSchema({ query }), asked };
}

const typesIn = (sql: string) => [...sql.matchAll(/; Type: (.*); Schema/g)].map(([, type]) => type);

describe("the schema of a database", () => {
  it("the schema has every type of object, in the order in which a database can be made of it", async () => {
    expect(typesIn((await dumped()).sql)).toEqual([
      "SCHEMA",
      "COMMENT",
      "COLLATION",
      "EXTENSION",
      "DOMAIN",
      "PROCEDURE",
      "AGGREGATE",
      "TABLE",
      "VIEW",
      "MATERIALIZED VIEW",
      "SEQUENCE",
      "SEQUENCE OWNED BY",
      "TABLE ATTACH",
      "DEFAULT",
      "CHECK CONSTRAINT",
      "CONSTRAINT",
      "INDEX",
      "INDEX ATTACH",
      "STATISTICS",
      "RULE",
      "TRIGGER",
      "FK CONSTRAINT",
      "ROW SECURITY",
      "POLICY",
      "PUBLICATION",
      "PUBLICATION TABLE",
      "PUBLICATION TABLES IN SCHEMA",
      "EVENT TRIGGER",
    ]);
  });

  it("a line less comes after an object that is given to its owner", async () => {
    const statements = ["CREATE TABLE a;", "CREATE TABLE b;\n\n\nALTER TABLE b OWNER TO app;"];
    const table = (one: string, at: number) => [`id ${at}`, "TABLE", "shop", `t${at}`, "app", one];
    const { sql } = await dumped((query) => (typeOf(query) === "TABLE" ? statements.map(table) : undefined));
    expect(sql).toContain("CREATE TABLE a;\n\n\n--");
    expect(sql).toContain("OWNER TO app;\n\n--");
  });

  it("objects of one rank stand by their names, and each type in its place whatever the server answers first", async () => {
    const table = (name: string) => [`id of ${name}`, "TABLE", "shop", name, "app", "CREATE TABLE;"];
    const { sql } = await dumped((query) => (typeOf(query) === "TABLE" ? ["b", "a", "c"].map(table) : undefined));
    expect([...sql.matchAll(/Name: (\w); Type: TABLE;/g)].map(([, name]) => name)).toEqual(["a", "b", "c"]);
  });

  it("what one object needs of several comes before it, by rank and name", async () => {
    const needs = ["VIEW", "SEQUENCE", "COLLATION"].map((type) => ["id of SCHEMA", `id of ${type}`]);
    const { sql } = await dumped((query) => (query.startsWith("WITH named") ? needs : undefined));
    expect(typesIn(sql).slice(0, 4)).toEqual(["COLLATION", "VIEW", "SEQUENCE", "SCHEMA"]);
  });

  it("all of it is read in one transaction, which is over then", async () => {
    const { asked } = await dumped();
    expect([asked[0], asked.at(-1), asked[1]?.includes("search_path = pg_catalog")]).toEqual([
      "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
      "COMMIT",
      true,
    ]);
  });

  it("comments follow their object, and rights come at the end, but those of objects that are not there", async () => {
    const { sql } = await dumped((query) => {
      if (query.includes("pg_description")) return [["id of VIEW", "VIEW thing", "COMMENT ON VIEW thing IS 'old';"]];
      const right = (id: string, name: string) => [id, "ACL", "shop", name, "app", "GRANT SELECT;"];
      if (!query.startsWith("WITH given")) return undefined;
      return [right("id of TABLE", "TABLE thing"), right("none", "lost"), right("public schema", "SCHEMA public")];
    });
    expect(sql).toContain(
      "CREATE VIEW;\n\n\n--\n-- Name: VIEW thing; Type: COMMENT; Schema: shop; Owner: app\n--\n\nCOMMENT ON VIEW thing IS 'old';\n",
    );
    expect(sql.endsWith("--\n-- PostgreSQL database dump complete\n--\n\n")).toBe(true);
    const last = [...sql.matchAll(/Name: (.*); Type: ACL; Schema: shop; Owner: app\n--\n\nGRANT SELECT;/g)];
    expect(last.map(([, name]) => name)).toEqual(["TABLE thing", "SCHEMA public"]);
    expect(typesIn(sql).slice(-2)).toEqual(["ACL", "ACL"]);
  });

  it("the schema begins as pg_dump's does, so that each statement means the same in every session", async () => {
    expect((await dumped()).sql.split("--\n-- Name:")[0]).toBe(`--
-- PostgreSQL database dump
--

-- Dumped from database version 17.2
-- Dumped by compute-operator

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

`);
  });

  it.each([
    ["16.9", false],
    ["17.0", true],
    ["18beta1", true],
  ])("a server of version %s knows the limit of transactions that the schema sets: %s", async (version, knows) => {
    const { sql } = await dumped(undefined, version);
    expect([sql.includes("SET transaction_timeout = 0;"), sql.includes(`database version ${version}\n`)]).toEqual([
      knows,
      true,
    ]);
  });
});

describe("a call for the schema", () => {
  const schema = `GET /projects/${project}/branches/${main}/schema?db_name=stock`;
  const table = ["id", "TABLE", "shop", "word", "app", "CREATE TABLE word;"];

  let fakes: ServiceOnFakes;
  beforeEach(async () => {
    fakes = await ServiceOnFakes.start();
    fakes.machine.answer = ({ sql }) => (typeOf(sql) === "TABLE" ? [table] : undefined);
    await fakes.change(`POST /projects/${project}/endpoints/${primary}/start`);
  });
  afterEach(() => fakes[Symbol.asyncDispose]());

  const starts = () => fakes.machine.events.filter((event) => event.startsWith("start")).length;
  const suspend = () => fakes.change(`POST /projects/${project}/endpoints/${primary}/suspend`);

  it.each([true, false])(
    "the schema is read from a branch whose server runs: %s, which it does afterwards too",
    async (runs) => {
      if (!runs) await suspend();
      const { status, body } = await fakes.send(schema);
      expect([status, String(body["sql"]).includes("CREATE TABLE word;")]).toEqual([200, true]);
      expect([starts(), fakes.machine.servers.size]).toEqual(runs ? [1, 1] : [2, 0]);
      const databases = fakes.machine.statements
        .filter(({ sql }) => typeOf(sql) === "TABLE")
        .map(({ database }) => database);
      expect(databases).toEqual(["stock"]);
    },
  );

  it("databases that the API has made or renamed while no compute ran are in the data whose schema is read", async () => {
    const { id } = await fakes.branch({}, []);
    const databases = `/projects/${project}/branches/${id}/databases`;
    await fakes.change(`POST ${databases}`, { database: { name: "later", owner_name: "app" } });
    await fakes.change(`PATCH ${databases}/stock`, { database: { name: "goods" } });
    for (const name of ["later", "goods"])
      expect((await fakes.send(`GET /projects/${project}/branches/${id}/schema?db_name=${name}`)).status).toBe(200);
    const asked = fakes.machine.statements.map(({ sql, database }) => (typeOf(sql) === "TABLE" ? database : sql));
    const order = [/^CREATE DATABASE "later"/, /^ALTER DATABASE "stock" RENAME/, /^later$/, /^goods$/].map((one) =>
      asked.findIndex((sql) => one.test(sql)),
    );
    expect([order.includes(-1), Math.max(...order.slice(0, 2)) < Math.min(...order.slice(2))]).toEqual([false, true]);
    expect(fakes.machine.servers.size).toBe(1);
  });

  it("a schema of more than eight megabytes is refused, with the program that reads it", async () => {
    const large = [...table.slice(0, 5), "x".repeat(5 * 1024 ** 2)];
    fakes.machine.answer = ({ sql }) => (typeOf(sql) === "TABLE" ? [large, large] : undefined);
    const { status, body } = await fakes.send(schema);
    expect([status, body["message"]]).toEqual([
      422,
      "the schema of database stock is larger than 8 MiB: read it with pg_dump",
    ]);
  });

  it("a server's own words are told, as something that passes", async () => {
    fakes.machine.answer = ({ sql }) => (typeOf(sql) === "TABLE" ? new Error("a lock is held") : undefined);
    const { status, body } = await fakes.send(schema);
    expect([status, body["message"], fakes.errors]).toEqual([
      503,
      "the schema of database stock cannot be read now: a lock is held",
      [],
    ]);
  });

  it("a client that leaves has the reading cancelled, and its session ends", async () => {
    fakes.machine.answer = ({ sql }) => (typeOf(sql) === "TABLE" ? new Promise(() => {}) : undefined);
    const gone = new AbortController();
    const reading = fakes.postgres.catalog.schema(main, "stock", gone.signal).then(() => "read", String);
    await fakes.until(() => fakes.machine.statements.some(({ sql }) => typeOf(sql) === "TABLE"));
    gone.abort();
    await expect.poll(() => fakes.machine.cancelled.length).toBe(1);
    expect(await reading).toContain("cannot be read now");
  });

  it("a client that has left by then has nothing read, and no server started", async () => {
    const reading = fakes.postgres.catalog.schema(main, "stock", AbortSignal.abort());
    await expect(reading).rejects.toThrow("cannot be read now: the client has left");
    expect(fakes.machine.asked("stock").filter((sql) => sql.startsWith("BEGIN"))).toEqual([]);
  });
});
