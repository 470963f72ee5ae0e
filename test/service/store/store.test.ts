import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { EndpointsAnswer } from "../../../src/api/endpoint.ts";
import { Database } from "../../../src/service/store/database.ts";
import { mostKept } from "../../../src/service/store/operations.ts";
import { latestVersion } from "../../../src/service/store/schema.ts";
import { Store } from "../../../src/service/store/store.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { TestService } from "../support/service.ts";
import { inShort, keys, preview, primary, project, Shop } from "../support/shop.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let file: string;
beforeEach(() => {
  directory = temporaryDirectory("store");
  file = join(directory.path, "service.sqlite");
});
afterEach(() => directory.remove());

it("the newest ten thousand operations and all that run are kept, so that the store ends growing", () => {
  const shop = new Shop();
  const { ids, store } = shop.core.context;
  const insert = (n: number, status: "finished" | "running") => {
    const made = { projectId: project, branchId: undefined, endpointId: undefined, action: "apply_config" };
    const rest = { effect: "none", chain: undefined, durationMs: 0, due: undefined, createdAt: n } as const;
    return store.operations.insert({ id: ids.uuid(), ...made, ...rest, status });
  };
  store.transaction(() => {
    insert(0, "running");
    for (let n = 1; n < mostKept + 4000; n += 1) insert(n, "finished");
  });
  const all = store.operations.page(project, { beforeSeq: undefined, limit: 20_000 });
  expect(all.length).toBeGreaterThan(mostKept);
  expect(all.length).toBeLessThan(mostKept + 2000);
  expect(all.at(-1)).toMatchObject({ createdAt: 0, status: "running" });
  expect(all.slice(0, mostKept).map(({ createdAt }) => createdAt)).toEqual(
    Array.from({ length: mostKept }, (_, n) => mostKept + 3999 - n),
  );
});

it("a service that was ended and started again has everything it had", () => {
  const before = new Shop({ file });
  before.create({ branch_id: preview, type: "read_write", name: "kept", settings: { pg_settings: { a: "b" } } });
  before.finishOperations();
  const was = [before.list(), before.operations()];
  before.core.close();
  const after = new Shop({ file, time: before.time });
  expect([after.list(), after.operations()]).toEqual(was);
  after.core.close();
});

it("a service started again ends a branch whose end fell into that time, with its computes", () => {
  const before = new Shop({ file });
  const expires_at = new Date(before.time.now() + 60_000).toISOString();
  const wanted = { branch: { name: "short", expires_at }, endpoints: [{ type: "read_write" }] };
  before.ana(`POST /projects/${project}/branches`, wanted);
  before.finishOperations();
  expect(before.list()).toHaveLength(2);
  before.core.close();
  const after = new Shop({ file, time: before.time });
  expect(after.core.nextDue()).toBeDefined();
  after.time.pass(60_000);
  after.core.settle();
  expect(after.core.context.store.branches.list(project).map(({ name }) => name)).not.toContain("short");
  expect(after.list().map(({ id }) => id)).toEqual([primary]);
  after.core.close();
});

it("a service started again lets happen what should have happened meanwhile, at its time", () => {
  const before = new Shop({ file });
  const { endpoint } = before.create({ branch_id: preview, type: "read_write" });
  before.core.close();
  before.time.pass(3_600_000);
  const after = new Shop({ file, time: before.time });
  const now = after.get(endpoint.id);
  expect(now.current_state).toBe("idle");
  expect(inShort(after.operations())).toEqual(["suspend_compute finished", "start_compute finished"]);
  const ran = Date.parse(String(now.suspended_at)) - Date.parse(String(now.started_at));
  expect(ran).toBeGreaterThanOrEqual(300_000);
  expect(ran).toBeLessThan(301_000);
  after.core.close();
});

it("a service started again still holds the connections to its computes", () => {
  const before = new Shop({ file });
  before.active();
  before.connect(primary, 3600);
  before.core.close();
  before.time.pass(3_500_000);
  const after = new Shop({ file, time: before.time });
  expect(after.get(primary).current_state).toBe("active");
  after.core.close();
});

it("a service started again has the same passwords, and keeps a revoked key revoked", () => {
  const before = new Shop({ file });
  const line = `GET /projects/${project}/connection_uri?database_name=neondb&role_name=neondb_owner`;
  const { body } = before.ana(line);
  expect(body["uri"]).toContain("npg_");
  const [mine] = Object.values(before.send(keys.bob, "GET /api_keys").body);
  before.send(keys.bob, `DELETE /api_keys/${JSON.stringify(mine).match(/"id":(\d+)/)?.[1]}`);
  before.core.close();
  const after = new TestService({ file, time: before.time });
  expect(after.send(keys.ana, line).body).toEqual(body);
  expect(after.send(keys.bob, "GET /projects").status).toBe(401);
  after.core.close();
});

it("a service started again takes no more from a seed than what is missing", () => {
  const before = new Shop({ file });
  before.ana(`DELETE /projects/${project}/endpoints/${primary}`);
  before.core.close();
  const after = new Shop({ file, time: before.time });
  expect(EndpointsAnswer.parse(after.ana(`GET /projects/${project}/endpoints`).body).endpoints).toEqual([]);
  after.core.close();
});

it("each change is on the disk before it is answered, and outlasts a power cut", () => {
  const database = new Database(file);
  expect(database.one("PRAGMA synchronous")).toEqual({ synchronous: 2 });
  expect(database.one("PRAGMA journal_mode")).toEqual({ journal_mode: "wal" });
  // Rows go with those that they belong to.
  expect(database.one("PRAGMA foreign_keys")).toEqual({ foreign_keys: 1 });
  database.close();
});

it("the files of a store can be read by their owner alone, also those that others could read before", () => {
  const files = [file, `${file}-wal`, `${file}-shm`];
  for (const one of files) writeFileSync(one, "", { mode: 0o644 });
  const database = new Database(file);
  expect(files.map((one) => statSync(one).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
  database.close();
});

it("the branches that have no data yet are named with parents before their children, whatever their ids", () => {
  const shop = new Shop();
  const branches = [{ id: "br-z", default: true }, { id: "br-m" }, { id: "br-a" }];
  shop.applySeed({ projects: [{ id: "aged", owner: "acc-ana", branches }] });
  const missing = shop.core.context.store.branchData.missing();
  expect(missing.slice(-3)).toEqual(["br-z", "br-m", "br-a"]);
});

it("the list of a project's computes is made once, and again after a change of that project's", () => {
  const { store } = new Shop().core.context;
  let number = 0;
  const list = (id: string) => {
    const { text, keep } = store.endpointList(id);
    if (text !== undefined) return text;
    number += 1;
    keep(`${id} ${number}`);
    return `${id} ${number}`;
  };
  const lists = () => [project, "shop-two"].map(list);
  expect([lists(), lists()]).toEqual([
    [`${project} 1`, "shop-two 2"],
    [`${project} 1`, "shop-two 2"],
  ]);
  const endpoint = store.endpoints.byId(primary);
  if (!endpoint) throw new Error("the primary is gone");
  store.endpoints.delete(endpoint);
  expect(lists()).toEqual([`${project} 3`, "shop-two 2"]);
  store.endpoints.insert(endpoint);
  expect(lists()).toEqual([`${project} 4`, "shop-two 2"]);
  store.endpoints.update({ ...endpoint, minCu: 2 });
  expect(lists()).toEqual([`${project} 5`, "shop-two 2"]);
  store.deleteProject("shop-two");
  expect(lists()).toEqual([`${project} 5`, "shop-two 6"]);
  store.clear();
  expect(lists()).toEqual([`${project} 7`, "shop-two 8"]);
});

it("the store belongs to one service at a time", () => {
  const first = new Shop({ file });
  expect(() => Store.open(file)).toThrow(/no other service has open/);
  first.core.close();
  expect(() => Store.open(file).close()).not.toThrow();
});

it("the store is in write-ahead mode and knows its schema's version", () => {
  Store.open(file).close();
  const sqlite = new DatabaseSync(file);
  expect(sqlite.prepare("PRAGMA journal_mode").get()).toMatchObject({ journal_mode: "wal" });
  expect(sqlite.prepare("PRAGMA user_version").get()).toMatchObject({ user_version: latestVersion });
  sqlite.close();
});

it("a store of a newer version is left alone", () => {
  Store.open(file).close();
  const sqlite = new DatabaseSync(file);
  sqlite.exec("PRAGMA user_version = 99");
  sqlite.close();
  expect(() => Store.open(file)).toThrow(
    /written by a newer version of this program \(schema 99; this one knows \d+\)/,
  );
});

it("a file that is something else becomes no store, and the message names the file", () => {
  writeFileSync(file, "Dear diary, this is not a database, but it is long enough to be looked at as one. ".repeat(20));
  expect(() => Store.open(file)).toThrow(/cannot use .*service\.sqlite as the service's store/);
  expect(() => Store.open(join(directory.path, "none", "service.sqlite"))).toThrow(/cannot use .*none/);
});

it("a store on the disk keeps room for changes on a full one, and makes it again where it is used up", () => {
  const free = (db: Database) => Number(db.one("PRAGMA freelist_count")?.["freelist_count"]) * 4096;
  const db = new Database(file);
  db.transaction(() => db.run("CREATE TABLE grown (bytes)"));
  expect(free(db)).toBeGreaterThan(4_000_000);
  expect(statSync(`${file}-wal`).size).toBeGreaterThan(4_000_000);
  db.transaction(() => db.run("INSERT INTO grown VALUES (zeroblob(3000000))"));
  expect(free(db)).toBeLessThan(2_000_000);
  for (let n = 0; n < 500; n += 1) db.transaction(() => db.run("UPDATE grown SET bytes = bytes WHERE 0"));
  expect(free(db)).toBeGreaterThan(4_000_000);
  db.close();
});
