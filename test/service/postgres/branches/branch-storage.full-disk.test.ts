import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { BranchStorage } from "../../../../src/service/postgres/branches/branch-storage.ts";
import { Home } from "../../../../src/service/postgres/data/home.ts";
import { sizeOf } from "../../../../src/service/postgres/host/each-file.ts";
import { systemProcesses } from "../../../../src/service/postgres/host/system-processes.ts";
import { Templates } from "../../../../src/service/postgres/server/templates.ts";
import type { Session } from "../../../../src/service/postgres/session/privileged-role.ts";
import { Turns } from "../../../../src/service/sharing/turns.ts";
import { Uses } from "../../../../src/service/sharing/uses.ts";
import type { BranchData } from "../../../../src/service/store/branch-data.ts";
import { Store } from "../../../../src/service/store/store.ts";
import { realClock } from "../../../support/real-clock.ts";
import { primary, Shop } from "../../support/shop.ts";

const processes = systemProcesses({ pid: process.pid, uid: process.getuid?.() ?? 0, node: process.execPath });
const mebibyte = 1024 ** 2;
const edition = { major: 17, postgres: "none", template: "none" };

let directory: string;
let home: Home;
let store: Store;
let from: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "compute-operator-full-disk-"));
  const data = join(directory, "service.sqlite");
  home = await Home.open({ data, user: undefined, processes, clock: realClock });
  store = Store.open(":memory:");
  from = home.branch("br-a", "1");
  mkdirSync(join(from, "global"), { recursive: true });
  // Its state, in the fifth word: shut down in order.
  writeFileSync(join(from, "global", "pg_control"), Buffer.from(new Uint32Array([0, 0, 0, 0, 1]).buffer));
  writeFileSync(join(from, "rows"), Buffer.alloc(3 * mebibyte));
});
afterEach(async () => {
  await home.close();
  store.close();
  rmSync(directory, { recursive: true });
});

function recordedOf(branchId: string): BranchData {
  return { branchId, generation: "1", catalog: "{}", maxConnections: 1, maxWorkerProcesses: 1, maxLocks: 64 };
}

const neverEnds = new Promise<void>(() => {});

function storage(
  freeBytes: number | Promise<number>,
  session?: Session,
  ended = neverEnds,
  used = new Uses(),
): BranchStorage {
  const unused = () => {
    throw new Error("not used here");
  };
  const programs = { directory: undefined, cache: directory, env: {}, progress: unused };
  return new BranchStorage({
    store,
    home,
    templates: new Templates(home, programs, processes),
    turns: new Turns(),
    used,
    newGeneration: () => "2",
    freeBytes: async () => freeBytes,
    serverOn: () => session && { connect: () => Promise.resolve(session), ended },
    serve: unused,
    reading: unused,
    clock: { now: () => 0, after: unused },
  });
}

it("copies a branch onto a disk with room for it and 64 MiB more, and else copies nothing", async () => {
  const making = home.making("br-b.2");
  const tooLittle = storage(3 * mebibyte + 64 * mebibyte).copy(from, making, edition);
  await expect(tooLittle).rejects.toThrow("the disk lacks room for a copy of 4 MiB: free some");
  expect(existsSync(making)).toBe(false);
  await storage(4 * mebibyte + 64 * mebibyte).copy(from, making, edition);
  expect(readdirSync(making).toSorted()).toEqual(["global", "rows"]);
});

it("copies a running server, for a branch or as a base of its history, onto no disk without room for that", async () => {
  const session = { query: vi.fn<Session["query"]>(), [Symbol.dispose]: vi.fn<() => void>() };
  const full = storage(3 * mebibyte + 64 * mebibyte, session);
  vi.spyOn(full, "of").mockReturnValue({ ...recordedOf("br-a"), directory: from });
  const message = "the disk lacks room for a copy of 4 MiB: free some";
  await expect(full.copy(from, home.making("br-b.2"), edition)).rejects.toThrow(message);
  await expect(full.addBase("br-a")).rejects.toThrow(message);
  expect([session.query.mock.calls, session[Symbol.dispose].mock.calls.length]).toEqual([[], 2]);
  const stopped = storage(0);
  vi.spyOn(stopped, "of").mockReturnValue({ ...recordedOf("br-a"), directory: from });
  await expect(stopped.addBase("br-a")).resolves.toBeUndefined();
  expect(existsSync(home.making("br-b.2"))).toBe(false);
});

it("a base of a running server counts the bytes that its files take, as it shares none of them", async () => {
  const segment = "000000010000000000000002";
  mkdirSync(join(from, "pg_wal"));
  writeFileSync(join(from, "pg_wal", segment), "log");
  const rows = (sql: string) => [sql.includes("pg_backup_stop") ? ["label", segment, "0/200100"] : [segment]];
  const session: Session = { query: (sql) => Promise.resolve(rows(sql)), [Symbol.dispose]: () => {} };
  const roomy = storage(100 * mebibyte, session);
  vi.spyOn(roomy, "of").mockReturnValue({ ...recordedOf("br-a"), directory: from });
  await roomy.addBase("br-a");
  const [base] = await roomy.histories.of(from).bases();
  const bytes = await sizeOf(base?.directory ?? "");
  expect(bytes).toBeGreaterThan(3 * mebibyte);
  expect(base).toMatchObject({ at: 0, position: 0x200100n, place: segment.slice(8), bytes });
});

it("a copy of a running server ends with that, and asks it nothing more", async () => {
  const end = Promise.withResolvers<void>();
  const asked: string[] = [];
  const query = (sql: string) => {
    asked.push(/pg_\w+/.exec(sql)?.[0] ?? "");
    if (sql.includes("pg_backup_start")) end.resolve();
    return Promise.resolve([[""]]);
  };
  const ending = storage(100 * mebibyte, { query, [Symbol.dispose]: () => {} }, end.promise);
  const copied = ending.copy(from, home.making("br-b.2"), edition);
  await expect(copied).rejects.toThrow("the server ended while its data was copied");
  expect(asked).toEqual(["pg_create_physical_replication_slot", "pg_walfile_name"]);
});

it("removes what no branch has, and never what a branch gets meanwhile", async () => {
  const leftOver = home.branch("br-gone", "1");
  mkdirSync(leftOver);
  const recorded: BranchData[] = [];
  vi.spyOn(store.branchData, "names").mockImplementation(() => [...recorded]);
  const removing = storage(0).removeUnrecorded();
  recorded.push(recordedOf("br-a"));
  await removing;
  expect([existsSync(from), existsSync(leftOver)]).toEqual([true, false]);
});

it("removes nothing that a server uses of a branch or a replica that is gone, until it has ended", async () => {
  const used = new Uses();
  const left = [home.branch("br-gone", "1"), home.replica("ep-gone")];
  for (const one of left) mkdirSync(one, { recursive: true });
  const ends = left.map((one) => used.begin(one));
  await storage(0, undefined, neverEnds, used).removeUnrecorded();
  expect(left.map((one) => existsSync(one))).toEqual([true, true]);
  for (const end of ends) end();
  await storage(0, undefined, neverEnds, used).removeUnrecorded();
  expect(left.map((one) => existsSync(one))).toEqual([false, false]);
});

it("removes nothing of a compute that comes back with its branch while much else is removed", async () => {
  const shop = new Shop();
  store.close();
  ({ store } = shop.core.context);
  mkdirSync(home.replica(primary), { recursive: true });
  writeFileSync(home.log(primary), "");
  vi.spyOn(store.endpoints, "goneAmong").mockImplementation((ids) => new Set(ids));
  await storage(0).removeUnrecorded();
  expect([existsSync(home.replica(primary)), existsSync(home.log(primary))]).toEqual([true, true]);
});

/** The statements that a look for what is left over runs, while so many computes have a log and a replica's data. */
async function statementsWith(computes: number): Promise<string[]> {
  const shop = new Shop();
  store.close();
  ({ store } = shop.core.context);
  const like = store.endpoints.byId(primary);
  if (!like) throw new Error("the primary is gone");
  for (let n = 0; n < computes; n += 1) {
    const id = `ep-${n}`;
    shop.core.change(() => store.endpoints.insert({ ...like, id, type: "read_only" }));
    writeFileSync(home.log(id), "");
    mkdirSync(home.replica(id), { recursive: true });
  }
  shop.core.change(() => store.branchData.put(recordedOf(like.branchId)));
  const run = ["one", "all"] as const;
  const spies = run.map((way) => vi.spyOn(shop.database, way));
  await storage(0).removeUnrecorded();
  expect(
    [readdirSync(join(home.root, "logs")), readdirSync(join(home.root, "replicas"))].map(({ length }) => length),
  ).toEqual([computes, computes]);
  return spies.flatMap(({ mock }) => mock.calls.map(([sql]) => sql));
}

it("looks for what is left of computes in as many statements with a hundred of them as with one", async () => {
  const few = await statementsWith(1);
  expect(await statementsWith(100)).toEqual(few);
});

it("looks for what is left of branches without reading the roles and databases of any", async () => {
  const statements = await statementsWith(0);
  expect(statements.filter((sql) => sql.includes("branch_data"))).toHaveLength(1);
  expect(statements.filter((sql) => sql.includes("catalog"))).toEqual([]);
});

it("removes nothing that is being copied, also where its branch is deleted meanwhile", async () => {
  const room = Promise.withResolvers<number>();
  const slow = storage(room.promise);
  const copying = slow.copy(from, home.making("br-b.2"), edition);
  await slow.removeUnrecorded();
  expect(existsSync(from)).toBe(true);
  room.resolve(1024 ** 3);
  await copying;
  await slow.removeUnrecorded();
  expect([existsSync(from), existsSync(join(home.making("br-b.2"), "rows"))]).toEqual([false, true]);
});

it("removes nothing where there is no time, as the service ends, and all when it is asked again", async () => {
  for (const name of ["br-b", "br-c"]) mkdirSync(home.branch(name, "1"));
  const left = () => readdirSync(join(home.root, "branches")).length;
  await storage(0).removeUnrecorded(() => true);
  expect(left()).toBe(3);
  await storage(0).removeUnrecorded();
  expect(left()).toBe(0);
});

it.each([
  ["history", () => join(home.root, "history", "br-gone.1")],
  ["replica", () => home.replica("ep-gone")],
])("removes no %s where there is no time either, and all of it when it is asked again", async (_, place) => {
  vi.spyOn(store.branchData, "names").mockReturnValue([recordedOf("br-a")]);
  mkdirSync(place(), { recursive: true });
  await storage(0).removeUnrecorded(() => true);
  expect(existsSync(place())).toBe(true);
  await storage(0).removeUnrecorded();
  expect([existsSync(place()), existsSync(from)]).toEqual([false, true]);
});

it("removes nothing more once there is no time, and no file but those of computes that are gone", async () => {
  vi.spyOn(store.branchData, "names").mockReturnValue([recordedOf("br-a")]);
  const branches = ["br-b", "br-c"].map((id) => home.branch(id, "1"));
  const replicas = ["ep-b", "ep-c"].map((id) => home.replica(id));
  const origins = replicas.map((replica) => join(replica, "compute-operator-origin"));
  const [log, other] = [home.log("ep-gone"), join(home.root, "logs", "other.log")];
  for (const one of [...branches, ...replicas]) mkdirSync(one);
  for (const file of [...origins, log, other]) writeFileSync(file, "");
  const left = (paths: readonly string[]) => paths.filter((path) => existsSync(path)).length;
  const all = () => [left(branches), left(origins), left([log]), left([other])];
  await storage(0).removeUnrecorded(() => left(branches) < 2);
  expect(all()).toEqual([1, 2, 1, 1]);
  await storage(0).removeUnrecorded(() => left(replicas) < 2);
  expect(all()).toEqual([0, 1, 1, 1]);
  await storage(0).removeUnrecorded();
  expect(all()).toEqual([0, 0, 0, 1]);
});

it("the size of data is that of its files, and nothing for a directory that has vanished by then", async () => {
  expect(await sizeOf(from)).toBe(3 * mebibyte + 20);
  expect(await sizeOf(join(from, "pg_replslot", "copy_1"))).toBe(0);
  await expect(sizeOf(join(from, "rows"))).rejects.toThrow("ENOTDIR");
});

it("a branch is copied in the turn of its source, which nobody starts, stops or replaces meanwhile", async () => {
  onTestFinished(() => void vi.restoreAllMocks());
  const take = vi.spyOn(Turns.prototype, "take").mockRejectedValue(new Error("it is the turn of another"));
  vi.spyOn(Templates.prototype, "edition").mockResolvedValue(edition);
  const wanted = {
    seq: 1,
    branchId: "br-b",
    sourceId: "br-a",
    point: undefined,
    schemaOnly: false,
    replaced: undefined,
  };
  const branch = Object.assign(JSON.parse("{}"), { id: "br-b" });
  await expect(storage(0).make(branch, 17, wanted, () => {})).rejects.toThrow("it is the turn of another");
  expect(take.mock.calls.map(([key]) => key)).toEqual(["br-a"]);
});
