import { expect, it, test } from "vitest";
import { readSqlRequest } from "../../../src/service/postgres/driver/sql-request.ts";

const uri = "postgresql://app:secret@ep-main.localhost/stock";

/** The statement that begins a batch with this isolation level. */
function begun(level: string): string | undefined {
  const headers = { "neon-connection-string": uri, "neon-batch-isolation-level": level };
  return readSqlRequest(headers, JSON.stringify({ queries: [{ query: "SELECT 1" }] })).begin;
}

it("a batch has the isolation level that its caller names", () => {
  expect(begun("RepeatableRead")).toBe("BEGIN ISOLATION LEVEL REPEATABLE READ");
});

it("a request hands its options and its program's name on to the server, and no other parameter", () => {
  const more = "?options=-c%20work_mem%3D8MB&application_name=jobs&sslmode=require";
  const { routed } = readSqlRequest(
    { "neon-connection-string": `${uri}${more}` },
    JSON.stringify({ query: "SELECT 1" }),
  );
  expect(Object.fromEntries(routed.parameters)).toEqual({
    user: "app",
    database: "stock",
    options: "-c work_mem=8MB",
    application_name: "jobs",
  });
});

test.each(["constructor", "__proto__", "Serializable; DROP TABLE item", ""])(
  "a batch with the isolation level %j is refused before it reaches a server",
  (level) => {
    expect(() => begun(level)).toThrow(/must be one of ReadUncommitted, ReadCommitted, RepeatableRead, Serializable/);
  },
);
