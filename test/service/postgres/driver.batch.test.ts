import { afterEach, beforeEach, expect, it } from "vitest";
import type { SqlCall } from "../../../src/service/http/sql-access.ts";
import { Shares } from "../../../src/service/sharing/shares.ts";
import type { Statement } from "./fake/fake-machine.ts";
import { ServiceOnFakes } from "./fake/fake-service.ts";
import { primary, project } from "./rig.ts";

let fakes: ServiceOnFakes;
/** The statements of the client, as the server receives them. */
let asked: Statement[];
beforeEach(async () => {
  fakes = await ServiceOnFakes.start();
  asked = [];
  fakes.machine.answer = (statement) => {
    if (statement.user !== "app") return undefined;
    asked.push(statement);
    return statement.sql === "wrong" ? new Error("no such table") : [["1"]];
  };
});
afterEach(() => fakes[Symbol.asyncDispose]());

/** Sends a body to `POST /sql`; answers the status and the parsed answer. */
async function send(body: object, headers: Readonly<Record<string, string>> = {}): Promise<[number, unknown]> {
  const call: SqlCall = {
    headers: {
      "neon-connection-string": `postgresql://app:${fakes.passwordOf()}@${primary}.localhost/stock`,
      ...headers,
    },
    from: "10.0.0.1",
    gone: new AbortController().signal,
    hold: (endpointId: string) => new Shares().of(endpointId),
    body: () => Promise.resolve(JSON.stringify(body)),
  };
  const { status, body: text, pieces = [] } = await fakes.postgres.driverAccess.answer(call);
  return [status, JSON.parse(text ?? Buffer.concat(pieces).toString("utf8"))];
}

const one = { query: "SELECT one", params: ["a", null] };
const batch = { queries: [one, { query: "SELECT two", params: [] }] };
const clients = () => fakes.core.context.backend.connections(fakes.compute(), false);

it("a batch is one transaction of the kind that its client asks for, and is committed at its end", async () => {
  const [status, answer] = await send(batch, { "neon-batch-isolation-level": "Serializable" });
  const result = { rows: [{ c0: "1" }], command: "SELECT", rowCount: 1, rowAsArray: false };
  expect([status, answer]).toEqual([
    200,
    { results: [expect.objectContaining(result), expect.objectContaining(result)] },
  ]);
  expect(asked.map(({ sql, values, database }) => [sql, values, database])).toEqual([
    [expect.stringMatching(/^BEGIN .*SERIALIZABLE/), [], "stock"],
    ["SELECT one", ["a", null], "stock"],
    ["SELECT two", [], "stock"],
    ["COMMIT", [], "stock"],
  ]);
  await expect.poll(clients).toBe(0);
});

it("a batch that fails is not committed, and what comes after the failure does not run", async () => {
  const [status, answer] = await send({ queries: [one, { query: "wrong", params: [] }, one] });
  expect([status, answer]).toEqual([400, expect.objectContaining({ message: "no such table", severity: "ERROR" })]);
  expect(asked.map(({ sql }) => sql).slice(1)).toEqual(["SELECT one", "wrong"]);
  await expect.poll(clients).toBe(0);
});

it("a statement alone is no transaction, and its rows may be arrays", async () => {
  const [status, answer] = await send(one, { "neon-array-mode": "true" });
  expect([status, answer]).toEqual([200, expect.objectContaining({ rows: [["1"]], rowAsArray: true })]);
  expect(asked.map(({ sql }) => sql)).toEqual(["SELECT one"]);
});

it("each statement may say itself whether its rows are arrays", async () => {
  const queries = [true, false, null, undefined].map((arrayMode) => ({ ...one, arrayMode }));
  const shown = (isArray: boolean) =>
    expect.objectContaining({ rows: [isArray ? ["1"] : { c0: "1" }], rowAsArray: isArray });
  expect(await send({ queries }, { "neon-array-mode": "true" })).toEqual([
    200,
    { results: [true, false, true, true].map(shown) },
  ]);
  expect(await send(queries[0] ?? {})).toEqual([200, shown(true)]);
  expect(await send({ ...one, arrayMode: "yes" })).toEqual([400, expect.objectContaining({ code: "08P01" })]);
});

it("a compute that lets nobody in is told to the client as a failed login, and nothing runs", async () => {
  await fakes.change(`PATCH /projects/${project}/endpoints/${primary}`, { endpoint: { disabled: true } });
  const [status, answer] = await send(one);
  expect([status, answer]).toEqual([
    400,
    { message: expect.stringContaining("is disabled"), code: "08004", severity: "FATAL" },
  ]);
  expect(asked).toEqual([]);
});
