import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { makeSchemaOnly } from "../../../../src/service/postgres/branches/schema-only.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { FakeData } from "../fake/fake-data.ts";
import { FakeServer, type Statement } from "../fake/fake-machine.ts";
import { ServiceOnFakes } from "../fake/fake-service.ts";
import { main, primary, project } from "../rig.ts";

let fakes: ServiceOnFakes;
/** Number of large objects that are left, in pairs. */
let objects: number;
beforeEach(async () => {
  fakes = await ServiceOnFakes.start();
  objects = 2;
  fakes.machine.answer = answer;
  await fakes.change(`POST /projects/${project}/endpoints/${primary}/start`);
  fakes.write("early");
});
afterEach(() => fakes[Symbol.asyncDispose]());

const isEmptying = ({ sql }: Pick<Statement, "sql">) => sql.includes("TRUNCATE '");

/** A statement that runs others, by what these do and whether each is a transaction of its own. */
function shown(sql: string): string {
  if (!sql.startsWith("DO")) return sql.replaceAll(/copier_\w+/g, "copier");
  return `DO ${(sql.match(/GRANT(?= %I TO)|DISABLE(?=', tgname)|TRUNCATE(?= ')|CASE tgenabled|ALTER SEQUENCE|COMMIT/g) ?? []).join()}`;
}

/** What a database with large objects and a prepared transaction answers. */
function answer({ sql, database }: Statement): string[][] | undefined {
  if (database !== "stock") return undefined;
  if (sql.includes("pg_prepared_xacts")) return [["ROLLBACK PREPARED 'left'"]];
  if (!sql.startsWith("SELECT lo_unlink")) return undefined;
  objects -= 1;
  return objects < 0 ? [] : [["1"]];
}

/** The statements of the copy's server in a database, with who runs each. */
function inDatabase(name: string, directory: string): string[] {
  return fakes.machine.statements
    .filter(({ data, database }) => data.includes(directory) && database === name)
    .filter(({ sql }) => !sql.startsWith("SELECT"))
    .map(({ user, sql }) => `${user === "cloud_admin" ? "service" : "copier"}: ${shown(sql)}`);
}

it("a branch with the schema alone loses its rows as their owners would delete them, in one transaction", async () => {
  const { id } = await fakes.branch({ init_source: "schema-only" });
  expect([fakes.contentOf(id).rows, fakes.contentOf().rows]).toEqual([[], ["early"]]);
  expect(inDatabase("stock", "making")).toEqual([
    "service: ROLLBACK PREPARED 'left'",
    "service: DO GRANT,COMMIT",
    "copier: DO DISABLE,TRUNCATE,CASE tgenabled",
    "copier: DO ALTER SEQUENCE,COMMIT",
    "service: DROP OWNED BY cloud_copier",
    "service: DELETE FROM pg_statistic; DELETE FROM pg_statistic_ext_data; SELECT pg_stat_reset()",
    "service: VACUUM FULL pg_largeobject",
    "service: VACUUM FULL pg_largeobject_metadata",
    "service: VACUUM FULL pg_statistic",
    "service: VACUUM FULL pg_statistic_ext_data",
  ]);
  expect(objects).toBe(-1);
  // A database whose name is no text could not be entered.
  const asked = fakes.machine.statements.filter(({ data }) => data.includes("making")).map(({ sql }) => sql);
  expect(asked.join()).toContain("RENAME TO");
});

it("what a branch that began with the schema alone has since is kept by a restore, and another branch's rows come with its data", async () => {
  const { id } = await fakes.branch({ init_source: "schema-only" }, [{ type: "read_write" }]);
  const restore = `POST /projects/${project}/branches/${id}/restore`;
  fakes.write("own", id);
  fakes.clock.advance(1000);
  const source_timestamp = new Date(fakes.clock.now()).toISOString();
  fakes.clock.advance(1000);
  fakes.write("late", id);
  await fakes.change(restore, { source_branch_id: id, source_timestamp, preserve_under_name: "kept" });
  const kept = fakes.store.branches.list(project).find(({ name }) => name === "kept");
  expect([fakes.contentOf(kept?.id).rows, fakes.contentOf(id).rows]).toEqual([["own", "late"], ["own"]]);
  await fakes.change(restore, { source_branch_id: main });
  expect(fakes.contentOf(id).rows).toEqual(["early"]);
});

it("a branch with the schema alone keeps its log until the server on it has ended in order", async () => {
  const end = vi.spyOn(FakeData.prototype, "end");
  onTestFinished(() => end.mockRestore());
  const starts = () => fakes.machine.events.filter((event) => /^start .*making|^start br-.*\.\w+$/.test(event)).length;
  const before = starts();
  await fakes.branch({ init_source: "schema-only" });
  const usual = starts() - before;
  end.mockImplementationOnce(() => {});
  await fakes.branch({ init_source: "schema-only" });
  expect(starts() - before).toBe(2 * usual + 1);
  end.mockImplementation(() => {});
  await fakes.branch({ init_source: "schema-only" });
  const reasons = fakes.operations().map(({ error }) => error);
  expect(reasons).toContain("the server on it did not stop in time: try again");
});

it("the transactions of all databases end before the rows of any go", async () => {
  const { id } = await fakes.branch({ init_source: "schema-only" });
  const asked = fakes.machine.statements.filter(({ data }) => data.includes(id)).map(({ sql }) => sql);
  const last = asked.findLastIndex((sql) => sql.includes("pg_prepared_xacts"));
  expect(asked.findIndex((sql) => isEmptying({ sql }))).toBeGreaterThan(last);
});

it("a database that was closed is closed again", async () => {
  fakes.machine.answer = (statement) =>
    statement.sql.startsWith("SELECT datname, NOT datallowconn") ? [["neondb", "t", "7"]] : answer(statement);
  await fakes.branch({ init_source: "schema-only" });
  const asked = inDatabase("postgres", "making");
  expect(asked.filter((sql) => sql.includes("ALTER DATABASE"))).toEqual([
    'service: ALTER DATABASE "neondb" ALLOW_CONNECTIONS true CONNECTION LIMIT -1',
    'service: ALTER DATABASE "neondb" ALLOW_CONNECTIONS false CONNECTION LIMIT 7',
  ]);
});

it("the copier's role and the log of its work are gone when the branch is made, and no server runs on it", async () => {
  const { id } = await fakes.branch({ init_source: "schema-only" });
  const log = join(fakes.directoryOf(id), "pg_wal");
  expect(Object.keys(fakes.contentOf(id).roles)).toEqual(Object.keys(fakes.contentOf().roles));
  expect(readdirSync(log).filter((name) => name !== "archive_status")).toHaveLength(1);
  expect(readdirSync(join(log, "archive_status"))).toEqual([]);
  expect([fakes.machine.servers.size, fakes.machine.events.at(-1)?.startsWith("end")]).toEqual([1, true]);
});

it("a copy that fails leaves no server, no data and no history", async () => {
  fakes.machine.answer = (statement) => (isEmptying(statement) ? new Error("a lock is held") : answer(statement));
  await fakes.send(`POST /projects/${project}/branches`, { branch: { init_source: "schema-only" } });
  await fakes.settled();
  expect(fakes.operations().at(-1)).toMatchObject({ status: "failed", error: "a lock is held" });
  const left = await Promise.all(["making", "branches", "history"].map((name) => fakes.names(name)));
  expect([fakes.machine.servers.size, left.map(({ length }) => length)]).toEqual([1, [0, 1, 1]]);
});

it("a server runs without the places of prepared transactions once more, where the copy had some", async () => {
  const count = () => fakes.machine.events.filter((event) => event.startsWith("start")).length;
  await fakes.branch({ init_source: "schema-only" });
  const once = count();
  writeFileSync(join(fakes.directoryOf(), "pg_twophase", "00000001"), "");
  await fakes.branch({ init_source: "schema-only" });
  expect([once, count()]).toEqual([2, 4]);
});

it.each([
  "CREATE ROLE",
  "ROLLBACK PREPARED",
  "GRANT %I TO",
  "TRUNCATE '",
  "ALTER SEQUENCE",
  "DROP OWNED",
  "SELECT lo_unlink",
  "DELETE FROM pg_statistic",
  "VACUUM FULL pg_statistic_ext_data",
  "DROP ROLE",
  "SELECT pg_switch_wal",
])("a copy fails with the complaint about %s, and none is made of what is left", async (words) => {
  const ofCopy = ({ data, sql }: Statement) =>
    data.includes("making") && (sql.startsWith("DO") ? sql.includes(words) : sql.startsWith(words));
  fakes.machine.answer = (statement) => (ofCopy(statement) ? new Error("refused") : answer(statement));
  await fakes.send(`POST /projects/${project}/branches`, { branch: { init_source: "schema-only" } });
  await fakes.settled();
  expect(fakes.operations().at(-1)).toMatchObject({ status: "failed", error: "refused" });
  expect([fakes.machine.servers.size, await fakes.names("making")]).toEqual([1, []]);
});

it("the log of a copy stays until its server has ended", async () => {
  const stop = vi.spyOn(FakeServer.prototype, "stop");
  onTestFinished(() => stop.mockRestore());
  const marks: number[] = [];
  const lookThenStop = async (server: FakeServer) => {
    const statuses = join(server.data.directory, "pg_wal", "archive_status");
    for (let times = 0; times < 50; times += 1) marks.push((await readdir(statuses)).length);
    server.stop();
  };
  stop.mockImplementationOnce(function late(this: FakeServer) {
    void lookThenStop(this);
  });
  await fakes.branch({ init_source: "schema-only" });
  expect(marks).toEqual(Array.from({ length: 50 }, () => 1));
});

describe("a function of a client's that never ends, in an index of a table that a copy empties", () => {
  let copying: ReturnType<ServiceOnFakes["send"]>;
  beforeEach(async () => {
    fakes.machine.answer = (statement) => (isEmptying(statement) ? new Promise(() => {}) : answer(statement));
    copying = fakes.send(`POST /projects/${project}/branches`, { branch: { init_source: "schema-only" } });
    await fakes.until(() => fakes.machine.statements.some(isEmptying));
  });

  it("the copy fails after ten minutes, and leaves nothing", async () => {
    expect((await copying).status).toBe(201);
    fakes.clock.advance(600_000);
    await fakes.settled();
    expect(fakes.operations().flatMap(({ error }) => error ?? [])).toEqual([
      "its rows were not gone after ten minutes: a function in an index may never end",
    ]);
    expect([await fakes.names("making"), (await fakes.names("branches")).length]).toEqual([[], 1]);
  });

  it("the compute of the source starts meanwhile", async () => {
    const before = fakes.serverOf();
    before.crash();
    await fakes.until(() => fakes.machine.servers.has(fakes.directoryOf()));
    expect(fakes.serverOf()).not.toBe(before);
  });

  it("the service that is told to end does", async () => {
    await fakes.stop();
    expect([...fakes.machine.servers]).toEqual([]);
  });
});

it("the server that empties data of few files has room for as many locks as any server", async () => {
  const { path: data, remove } = temporaryDirectory("schema-only");
  onTestFinished(remove);
  mkdirSync(join(data, "pg_twophase"));
  const asked: unknown[] = [];
  const serve = (settings: Readonly<Record<string, string>>) => {
    asked.push(settings);
    return Promise.reject(new Error("no server"));
  };
  await expect(makeSchemaOnly(data, serve, fakes.clock)).rejects.toThrow("no server");
  expect(asked).toEqual([{ autovacuum: "off", max_locks_per_transaction: "64" }]);
});
