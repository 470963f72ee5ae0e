import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { BranchHistory } from "../../../src/service/postgres/history/branch-history.ts";
import { type Recovered, recover } from "../../../src/service/postgres/history/recovery.ts";
import type { OwnServer } from "../../../src/service/postgres/server/own-server.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { historyIn, segment } from "./history-in.ts";

const names = Array.from({ length: 100 }, (_, index) => `file ${index}`);
const refusal = (begins: string) =>
  `1970-01-01T00:00:01.500Z lies before the history of branch br-a, which begins at 1970-01-01T00:00:${begins}Z`;

let directory: ReturnType<typeof temporaryDirectory>;
let root: string;
let data: string;
let history: BranchHistory;
let to: string;
/** What the recovering server finds: the files of the base, and its log. */
let found: string[];
beforeEach(async () => {
  directory = temporaryDirectory("recovery");
  ({ root, data, history } = historyIn(directory.path));
  to = join(directory.path, "to");
  found = [];
  for (const number of [1, 2, 3]) await add(number);
  for (const number of [1, 2, 3]) complete(number);
  await history.archive(data);
});
afterEach(() => directory.remove());

/** Adds a base of as many seconds as its number, with a hundred files and the place of its log. */
function add(number: number): Promise<void> {
  return history.addBase((place) => {
    mkdirSync(join(place, "pg_wal"), { recursive: true });
    for (const name of names) writeFileSync(join(place, name), "");
    const at = { at: number * 1000, position: BigInt(number) << 20n };
    return Promise.resolve({ ...at, place: segment(number).slice(8), bytes: 0 });
  });
}

function complete(number: number): void {
  writeFileSync(join(data, "pg_wal", segment(number)), "log");
  writeFileSync(join(data, "pg_wal", "archive_status", `${segment(number)}.ready`), "");
}

/** Answers where the log of the source ends. */
const client = { query: () => Promise.resolve([["0/FFFFFFF"]]) };

/** Recovers a state, at 1.5 s that after the first base; `meanwhile` runs right before that is copied. */
function recovery(
  meanwhile: () => Promise<unknown>,
  { at = 1500, lsn = "", server = () => Promise.reject<OwnServer>(new Error("served")) } = {},
): Promise<Recovered | undefined> {
  const limits = { maxConnections: 1, maxWorkerProcesses: 1, maxLocks: 64 };
  const source = {
    branchId: "br-a",
    generation: "1",
    catalog: '{"roles":[],"databases":[]}',
    ...limits,
    directory: data,
  };
  const point = lsn === "" ? ({ kind: "time", at } as const) : ({ kind: "lsn", lsn } as const);
  return recover(source, history, point, to, {
    now: () => 9000,
    owner: undefined,
    refuseFullDisk: async () => void (await meanwhile()),
    session: (act) => act(client),
    serve: () => {
      found = readdirSync(to, { recursive: true, encoding: "utf8" });
      return server();
    },
  });
}

/** Has the removal of a file with this name fail, as if the service were killed then, until the answer is called. */
function killedAt(name: string): () => void {
  const real = promises.rm;
  const rm: typeof real = (path, options) =>
    String(path).endsWith(name) ? Promise.reject(new Error("killed")) : real(path, options);
  const put = (one: typeof real) => {
    Object.assign(promises, { rm: one });
    syncBuiltinESMExports();
  };
  put(rm);
  onTestFinished(() => put(real));
  return () => put(real);
}

it("the state of this very moment is the present, of which nothing is made", async () => {
  expect(await recovery(async () => {}, { at: 9000 })).toBeUndefined();
  expect(existsSync(to)).toBe(false);
});

it("the position at which the log ends has a state, and one after it is refused", async () => {
  await expect(recovery(async () => {}, { lsn: "0/FFFFFFF" })).rejects.toThrow("served");
  const beyond = "lies after the end of the log of branch br-a";
  await expect(recovery(async () => {}, { lsn: "0/10000000" })).rejects.toThrow(beyond);
});

it("the server of a state that cannot be read has ended before that is said", async () => {
  let isRunning = true;
  const stop = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    isRunning = false;
  };
  const server = () => Promise.resolve({ connect: () => Promise.reject(new Error("no session")), stop });
  await expect(recovery(async () => {}, { server })).rejects.toThrow("no session");
  expect(isRunning).toBe(false);
});

it("a state is recovered from the whole of a base and of its log, though the server removes what was taken of that", async () => {
  // A segment that goes once the names are known.
  symlinkSync("gone", join(data, "pg_wal", segment(4)));
  await expect(recovery(async () => {})).rejects.toThrow("served");
  const log = [1, 2, 3].map((number) => join("pg_wal", segment(number)));
  expect(found.toSorted()).toEqual([...names, "pg_wal", ...log, "standby.signal"].toSorted());
});

it("no state is recovered from a base of which a part is removed while it is copied: its history begins later by then", async () => {
  killedAt("file 50");
  const removed = async () => expect(history.prune(5000)).rejects.toThrow("killed");
  await expect(recovery(removed)).rejects.toThrow(refusal("02.000"));
  expect(found).toEqual([]);
});

it("no state is recovered from a base that is removed while it is copied, as a newer one of the state is whole by then", async () => {
  const replaced = async () => {
    await add(5);
    await history.prune(6000);
  };
  await expect(recovery(replaced, { at: 5500 })).rejects.toThrow("has another base by now: try again");
  expect(found).toEqual([]);
});

it("no state is recovered without the log of its base, which is removed once the base was copied", async () => {
  const restoring = vi.spyOn(BranchHistory.prototype, "restoreLog");
  onTestFinished(() => restoring.mockRestore());
  restoring.mockImplementationOnce(async (...given) => {
    for (const number of [1, 2, 3]) rmSync(join(data, "pg_wal", segment(number)));
    await history.prune(5000);
    await history.restoreLog(...given);
  });
  await expect(recovery(async () => {})).rejects.toThrow(refusal("03.000"));
  expect(found).toEqual([]);
});

it("a base is none once its removal began, though a service that is killed leaves a part; the next removal takes it", async () => {
  const repair = killedAt("file 50");
  await expect(history.prune(5000)).rejects.toThrow("killed");
  const times = async () => (await history.bases()).map(({ at }) => at);
  expect(await times()).toEqual([2000, 3000]);
  expect(await history.baseFor({ kind: "time", at: 1500 })).toBeUndefined();
  repair();
  await history.prune(0);
  expect([await times(), readdirSync(join(root, "br-a.1", "bases")).length]).toEqual([[2000, 3000], 2]);
});
