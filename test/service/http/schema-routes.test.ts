import { expect, it, test } from "vitest";
import { refusals } from "../../../src/service/refusal.ts";
import { keys, main, preview, project, Shop } from "../support/shop.ts";

const shop = new Shop();
const ask = (branch: string, call: string) => shop.ana(`GET /projects/${project}/branches/${branch}/${call}`);

it("gives the schemas of the model's databases, which have no tables and do not differ", () => {
  expect(ask(main, "schema?db_name=neondb")).toMatchObject({ status: 200, body: { sql: "" } });
  expect(ask(main, "schema?db_name=neondb&lsn=0/1")).toMatchObject({ status: 200, body: { sql: "" } });
  expect(ask(preview, "compare_schema?db_name=neondb")).toMatchObject({ status: 200, body: { diff: "" } });
  expect(ask(preview, `compare_schema?db_name=neondb&base_branch_id=${main}`).body).toEqual({ diff: "" });
});

it.each([
  ["known at once", (schema: string) => schema],
  ["read from servers", (schema: string) => Promise.resolve(schema)],
  ["known of one alone", (schema: string) => (schema === `of ${main}` ? schema : Promise.resolve(schema))],
])("the base is compared with the branch, in that order, where schemas are %s", async (_, read) => {
  const reading = new Shop();
  const { catalog } = reading.core.context;
  catalog.schema = (branchId) => read(`of ${branchId}`);
  catalog.compared = ({ name, before, after }) => read(`${name}: ${before}, ${after}`);
  const headers = { authorization: `Bearer ${keys.ana}` };
  const answerTo = async (path: string, query: Record<string, string>) => {
    const call = { method: "GET", path: `/api/v2/projects/${project}/branches/${path}`, query, headers };
    const exchange = reading.core.exchange(call);
    if (exchange.kind !== "answer") throw new Error(`a schema is answered with ${exchange.kind}`);
    const { body = "" } = (await exchange.reply.later) ?? exchange.reply;
    return JSON.parse(body);
  };
  const query = { db_name: "neondb" };
  expect(await answerTo(`${preview}/schema`, query)).toEqual({ sql: `of ${preview}` });
  const diff = `neondb: of ${main}, of ${preview}`;
  expect(await answerTo(`${preview}/compare_schema`, query)).toEqual({ diff });
  expect(await answerTo(`${main}/compare_schema`, { ...query, base_branch_id: preview })).toEqual({
    diff: `neondb: of ${preview}, of ${main}`,
  });
});

it("the reading and the comparing of schemas end when the client leaves", async () => {
  const reading = new Shop();
  const { catalog } = reading.core.context;
  const signals: unknown[] = [];
  catalog.schema = (_branchId, _database, gone) => {
    signals.push(gone);
    return Promise.resolve("");
  };
  catalog.compared = (_schemas, gone) => {
    signals.push(gone);
    return Promise.resolve("");
  };
  const { signal: gone } = new AbortController();
  const path = `/api/v2/projects/${project}/branches/${preview}/compare_schema`;
  const headers = { authorization: `Bearer ${keys.ana}` };
  await reading.core.call({ method: "GET", path, query: { db_name: "neondb" }, headers, gone }).later;
  expect(signals).toEqual([gone, gone, gone]);
});

test.each([
  [main, "schema?db_name=none", 404, "database not found"],
  [main, "schema", 400, /db_name/],
  [main, "schema?db_name=neondb&lsn=0/1&timestamp=2026-01-01T00:00:00Z", 400, /not at both/],
  [preview, "compare_schema?db_name=neondb&lsn=0/1&timestamp=2026-01-01T00:00:00Z", 400, /not at both/],
  [preview, "compare_schema?db_name=neondb&base_lsn=0/1&base_timestamp=2026-01-01T00:00:00Z", 400, /not at both/],
  [preview, "compare_schema?db_name=none", 404, "database not found"],
  [main, "schema?db_name=neondb&format=json", 400, /format/],
  [main, "compare_schema?db_name=neondb", 400, "base_branch_id is needed for a branch without a parent"],
  [preview, "compare_schema?db_name=neondb&base_branch_id=br-none", 404, "base branch not found"],
  [preview, "compare_schema?db_name=neondb&base_branch_id=br-eve", 404, "base branch not found"],
])("refuses on %s: %s", (branch, call, status, message) => {
  const { status: answered, body } = ask(branch, call);
  expect(answered).toBe(status);
  expect(body["message"]).toMatch(message);
});

it.each([
  ["an answer", () => Promise.resolve("CREATE TABLE t ()"), 200],
  ["a refusal", () => Promise.reject(refusals.unavailable("the server did not start")), 503],
  ["a mistake of ours", () => Promise.reject(new Error("the inner workings")), 500],
])("%s that has to be waited for carries the request id that the client gave", async (_, schema, status) => {
  const reading = new Shop();
  reading.core.context.catalog.schema = schema;
  const headers = { authorization: `Bearer ${keys.ana}`, "x-request-id": "mine-1" };
  const path = `/api/v2/projects/${project}/branches/${main}/schema`;
  const reply = reading.core.call({ method: "GET", path, query: { db_name: "neondb" }, headers });
  expect(await reply.later).toMatchObject({ status, headers: { "x-request-id": "mine-1" } });
});
