import { expect, it, test } from "vitest";
import { JsonSize } from "../../../src/service/http/json-size.ts";
import { jsonOf, parameterText } from "../../../src/service/postgres/driver/parameters.ts";
import { readSqlLogin, readSqlStatements, sqlLimits } from "../../../src/service/postgres/driver/sql-request.ts";
import { Rejection } from "../../../src/service/postgres/session/rejection.ts";
import { cpuOf } from "../fuzz/work.ts";

const uri = "postgresql://app:secret@ep-main.localhost/stock";

/** The statement that begins a batch with this isolation level. */
function begun(level: string): string | undefined {
  const headers = { "neon-connection-string": uri, "neon-batch-isolation-level": level };
  return readSqlLogin(headers).begin;
}

it("a batch has the isolation level that its caller names", () => {
  expect(begun("RepeatableRead")).toBe("BEGIN ISOLATION LEVEL REPEATABLE READ");
});

it("a batch only reads, or waits until it may, where its caller says so", () => {
  const begins = (headers: object) => readSqlLogin({ "neon-connection-string": uri, ...headers }).begin;
  const [reads, waits] = [{ "neon-batch-read-only": "true" }, { "neon-batch-deferrable": "true" }];
  expect([begins({}), begins(reads), begins(waits), begins({ ...reads, ...waits })]).toEqual([
    "BEGIN",
    "BEGIN READ ONLY",
    "BEGIN DEFERRABLE",
    "BEGIN READ ONLY DEFERRABLE",
  ]);
  expect(begins({ "neon-batch-read-only": "false", "neon-batch-deferrable": "false" })).toBe("BEGIN");
});

it("rows are arrays only where the caller says so", () => {
  const arrayMode = (value?: string) =>
    readSqlLogin({ "neon-connection-string": uri, ...(value !== undefined && { "neon-array-mode": value }) }).form
      .arrayMode;
  expect([arrayMode(), arrayMode("false"), arrayMode("true")]).toEqual([false, false, true]);
});

it("the role of a request is the one that a server takes it for, which cuts long names", () => {
  const long = "r".repeat(70);
  const { user, routed } = readSqlLogin({ "neon-connection-string": uri.replace("app", long) });
  expect([user, routed.parameters.get("user")]).toEqual(["r".repeat(63), "r".repeat(63)]);
});

it("a batch of ten thousand statements is read", () => {
  const body = `{"queries":[${'{"query":"SELECT 1"},'.repeat(9999)}{"query":"SELECT 1"}]}`;
  expect(readSqlStatements(body).statements).toHaveLength(10_000);
});

test.each(["", "mysql://app:secret@ep-main.localhost/stock", "ep-main.localhost", "postgresqlx://app@host/stock"])(
  "a connection string %j that is no URI of Postgres is refused as a client's mistake",
  (text) => {
    expect(() => readSqlLogin({ "neon-connection-string": text })).toThrow(Rejection);
  },
);

it("a request hands its options and its program's name on to the server, and no other parameter", () => {
  const more = "?options=-c%20work_mem%3D8MB&application_name=jobs&sslmode=require";
  const { routed } = readSqlLogin({ "neon-connection-string": `${uri}${more}` });
  expect(Object.fromEntries(routed.parameters)).toEqual({
    user: "app",
    database: "stock",
    options: "-c work_mem=8MB",
    application_name: "jobs",
  });
});

test.each([
  ["/..", ".."],
  ["/.", "."],
  ["/%2e%2E", ".."],
  ["/a/../b", "a/../b"],
  ["/a%2Fb%3Fc", "a/b?c"],
  ["/?application_name=/x", "app"],
  ["", "app"],
])("a connection string that ends in %j means the database %j", (path, database) => {
  const login = readSqlLogin({ "neon-connection-string": `postgresql://app:secret@ep-main.localhost${path}` });
  expect([login.database, login.routed.parameters.get("database")]).toEqual([database, database]);
});

test.each(["constructor", "__proto__", "Serializable; DROP TABLE item", ""])(
  "a batch with the isolation level %j is refused before it reaches a server",
  (level) => {
    expect(() => begun(level)).toThrow(/must be one of ReadUncommitted, ReadCommitted, RepeatableRead, Serializable/);
  },
);

it("a request with a token is refused with the reason: it would run as the role of its URI, past every policy", () => {
  const request = (more: object) => () => readSqlLogin({ "neon-connection-string": uri, ...more });
  for (const authorization of ["Bearer eyJhbGciOiJFUzI1NiJ9.e30.x", "Bearer ", "Basic YXBwOnNlY3JldA==", ""]) {
    expect(request({ authorization })).toThrow(/verifies no tokens.*authToken.*role of the URI/);
  }
  expect(request({})).not.toThrow();
});

/** The texts of parameters that a body holds as this JSON. */
function texts(params: string): readonly (string | null)[] {
  const body = `{"query":"SELECT 1","params":${params}}`;
  return readSqlStatements(body).statements[0]?.values ?? [];
}

test.each([
  ["[]", "{}"],
  ["[1,2]", "{1,2}"],
  ["[[1,2],[3,null]]", "{{1,2},{3,NULL}}"],
  ["[[],[]]", "{{},{}}"],
  ['["a","","NULL","b c","{}","a,b"]', '{"a","","NULL","b c","{}","a,b"}'],
  [
    String.raw`["say \"hi\"","back\\slash","new\nline","ü\u0001"]`,
    String.raw`{"say \"hi\"","back\\slash","new` + '\nline","ü\u0001"}',
  ],
  ["[true,false,null,1.5,-1e-7]", "{true,false,NULL,1.5,-1e-7}"],
  ['[{"a":[1,"x"]},{"b":null}]', String.raw`{"{\"a\":[1,\"x\"]}","{\"b\":null}"}`],
  ["[9007199254740993,[1.10]]", "{9007199254740993,{1.10}}"],
  ["[[[[[[1]]]]]]", "{{{{{{1}}}}}}"],
])("the JSON array %s is the array %s of Postgres", (json, text) => {
  expect(texts(`[${json}]`)).toEqual([text]);
});

it("an array of a long text has each quote and backslash of it escaped, and no character cut in two", () => {
  for (const shift of ["", "x", "xx", "xxx"]) {
    const long = shift + '\u{1f642}"\\'.repeat(20_000);
    expect(parameterText([long])).toBe(`{"${long.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"}`);
  }
});

it("a body with a text of digits is read in no more time than its bytes take", () => {
  const body = `{"query":"SELECT 1","params":["${",123456789012345".repeat(3_700_000)}"]}`;
  // Digits sought by a pattern take six times as long.
  const least = cpuOf(() => JSON.parse(body), 3);
  expect(cpuOf(() => jsonOf(body), 3)).toBeLessThan(3 * least);
});

it("an array of a text of quotes takes no more time than its bytes take", () => {
  const before = process.cpuUsage();
  expect(parameterText(['"'.repeat(40_000_000)])?.length).toBe(80_000_004);
  // Found by a pattern, the quotes take ten seconds.
  expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
});

test.each([
  ["null", null],
  ['"[1,2]"', "[1,2]"],
  ["true", "true"],
  ["9007199254740993", "9007199254740993"],
  ["1.0", "1.0"],
  ["1e400", "1e400"],
  ["\n\t-1.0 ", "-1.0"],
  ["-12345678901234567890.12345678901234567890", "-12345678901234567890.12345678901234567890"],
  ['{"a":[1,{"b":"x"}],"n":12345678901234567890}', '{"a":[1,{"b":"x"}],"n":12345678901234567890}'],
])("the parameter %s reaches Postgres as %j", (json, text) => {
  expect(texts(`[${json}]`)).toEqual([text]);
});

it("digits in a text are read in no more time than its characters take", () => {
  const read = (part: string) => cpuOf(() => texts(`["${part.repeat(500_000)}"]`), 3);
  const letters = read("abcdefghijklmnop");
  // Twelve times as much, where a long number may begin with each digit.
  expect(read("123456789012345p")).toBeLessThan(5 * letters);
});

test.each([
  ["seven dimensions", "[[[[[[[1]]]]]]]"],
  ["arrays by the hundred thousand", "[".repeat(100_000) + "]".repeat(100_000)],
  ["objects by the hundred thousand", '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000)],
])("a parameter of %s is refused, and is not an error of the service", (_name, json) => {
  expect(() => texts(`[${json}]`)).toThrow(Rejection);
});

it("the first statement that is none ends the reading of a batch, and too many are not looked at", () => {
  const good = { queries: [{ query: "SELECT 1", params: [1, null, "x", { a: 1 }] }] };
  expect(readSqlStatements(JSON.stringify(good))).toEqual({
    statements: [{ sql: "SELECT 1", values: ["1", null, "x", '{"a":1}'] }],
    batch: true,
  });
  for (const body of ["", "null", "{", "[]", '{"queries":[0]}', '{"query":1}', '{"query":"SELECT 1","params":{}}']) {
    expect(() => readSqlStatements(body)).toThrow(/the body must be/);
  }
  expect(() => readSqlStatements(`{"queries":[${"0,".repeat(10_000)}0]}`)).toThrow(
    "a batch has at most 10000 statements",
  );
});

test.each([
  ["a statement with U+0000", '{"query":"SELECT 1\\u0000; SELECT 2"}'],
  ["a statement with half of a pair", '{"query":"SELECT \'\\ud83d\'"}'],
  ["a parameter with half of a pair", '{"query":"SELECT $1","params":["\\ude00"]}'],
  ["a parameter with half of a pair within an array", '{"query":"SELECT $1","params":[["\\ude00"]]}'],
  ["a batch one of whose statements has U+0000", '{"queries":[{"query":"SELECT 1"},{"query":"\\u0000"}]}'],
])("%s is refused, as it would become another text on its way", (_what, body) => {
  expect(() => readSqlStatements(body)).toThrow(/U\+0000 or half of a pair/);
});

it("a statement and a parameter keep characters beyond the first plane", () => {
  const { statements } = readSqlStatements('{"query":"SELECT \'\\ud83d\\ude00\'","params":["\\ud83d\\ude00", null]}');
  expect(statements).toEqual([{ sql: "SELECT '\u{1f600}'", values: ["\u{1f600}", null] }]);
});

test.each([
  ["thirty names of 100,000 bytes", 30, 100_000, undefined],
  ["a hundred names of 100,000 bytes", 100, 100_000, "more names of fields"],
  ["40,000 short names", 40_000, 10, undefined],
  ["60,000 short names", 60_000, 10, "more names of fields"],
])("a statement whose parameter has %s has this too much before it is parsed: %s", (_what, names, length, excess) => {
  const fields = Array.from({ length: names }, (_, n) => `"${String(n).padEnd(length, "k")}":1`);
  const size = new JsonSize(sqlLimits);
  const found = size.push(Buffer.from(`{"query":"SELECT $1","params":[{${fields.join(",")}}]}`));
  expect(found?.slice(0, 20)).toBe(excess);
});
