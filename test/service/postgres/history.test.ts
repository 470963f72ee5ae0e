import fs, {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { positionOf } from "../../../src/service/domain/history-point.ts";
import { isTimelineHistory, placeAt } from "../../../src/service/postgres/data/segments.ts";
import type { BranchHistory } from "../../../src/service/postgres/history/branch-history.ts";
import type { Histories } from "../../../src/service/postgres/history/histories.ts";
import { HistoryKeeper, type KeptServer } from "../../../src/service/postgres/history/keeper.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { realClock } from "../../support/real-clock.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { addBase, historyIn, segment } from "./history-in.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let root: string;
let data: string;
let histories: Histories;
let history: BranchHistory;
beforeEach(() => {
  directory = temporaryDirectory("history");
  ({ root, data, histories, history } = historyIn(directory.path));
});
afterEach(() => directory.remove());

/** A server completes segments. */
function complete(...numbers: number[]): void {
  for (const name of numbers.map(segment)) {
    writeFileSync(join(data, "pg_wal", name), `log ${name}`);
    writeFileSync(join(data, "pg_wal", "archive_status", `${name}.ready`), "");
  }
}

const kept = (name: string) =>
  readdirSync(join(root, name, "wal"))
    .filter((one) => one !== "making")
    .toSorted();

describe("a history", () => {
  it("takes each complete segment, and only then lets the server remove it", async () => {
    complete(1, 2);
    writeFileSync(join(data, "pg_wal", "archive_status", "00000001.history.backup.ready"), "");
    expect(await history.archive(data)).toBe(3);
    expect(kept("br-a.1")).toEqual([segment(1), segment(2)]);
    const statuses = readdirSync(join(data, "pg_wal", "archive_status"));
    expect(statuses.every((status) => status.endsWith(".done"))).toBe(true);
    expect(await history.archive(data)).toBe(0);
  });

  it("leaves a segment with the server where the disk takes no copy of it", async () => {
    complete(1);
    mkdirSync(join(root, "br-a.1", "wal", "making"), { recursive: true });
    await expect(history.archive(data)).rejects.toThrow("EISDIR");
    expect(readdirSync(join(data, "pg_wal", "archive_status"))).toEqual([`${segment(1)}.ready`]);
  });

  it("begins a recovery at the newest base before the point", async () => {
    for (const [at, number] of [
      [1000, 1],
      [2000, 5],
    ] as const)
      await addBase(history, at, number);
    const begins = async (at: number) => (await history.baseFor({ kind: "time", at }))?.at;
    expect([await begins(999), await begins(1000), await begins(1999), await begins(2000)]).toEqual([
      undefined,
      1000,
      1000,
      2000,
    ]);
    const from = async (lsn: string) => (await history.baseFor({ kind: "lsn", lsn }))?.at;
    expect([await from("0/FFFFF"), await from("0/100000"), await from("0/4FFFFF"), await from("0/500000")]).toEqual([
      undefined,
      1000,
      1000,
      2000,
    ]);
  });

  it("a history is inherited without room on the disk, up to where a copy leaves its source", async () => {
    await addBase(history, 1000, 1, 4096);
    await addBase(history, 3000, 9);
    complete(1, 2, 3);
    await history.archive(data);
    const child = join(directory.path, "br-b.1");
    await histories.of(child).inherit(history, { position: 2n << 20n, place: segment(3).slice(8) });
    expect(kept("br-b.1")).toEqual([segment(1), segment(2)]);
    expect((await histories.of(child).bases()).map(({ at }) => at)).toEqual([1000]);
    expect(histories.state(child)).toEqual({ since: 1000, position: 1n << 20n, bytes: 0 });
    // What the child completes in its own way does not reach its source.
    complete(2);
    writeFileSync(join(data, "pg_wal", segment(2)), "another log");
    await histories.of(child).archive(data);
    expect(readFileSync(join(root, "br-a.1", "wal", segment(2)), "utf8")).toBe(`log ${segment(2)}`);
  });

  it("keeps two bases at most, one where that reaches back far enough, and no log from before", async () => {
    for (const [at, number] of [
      [1000, 1],
      [2000, 3],
      [3000, 5],
    ] as const)
      await addBase(history, at, number, 100);
    complete(1, 2, 3, 4, 5, 6);
    await history.archive(data);
    await history.prune(0);
    expect((await history.bases()).map(({ at }) => at)).toEqual([2000, 3000]);
    expect(kept("br-a.1")).toEqual([3, 4, 5, 6].map(segment));
    await history.prune(2999);
    expect((await history.bases()).map(({ at }) => at)).toEqual([2000, 3000]);
    await history.prune(3000);
    expect((await history.bases()).map(({ at }) => at)).toEqual([3000]);
    expect(kept("br-a.1")).toEqual([5, 6].map(segment));
    const bytes = 100 + 2 * `log ${segment(5)}`.length;
    expect(histories.state(data)).toEqual({ since: 3000, position: 5n << 20n, bytes });
  });

  it("counts nothing that it shares, and goes with its data", async () => {
    await addBase(history, 1000, 1);
    complete(1);
    await history.archive(data);
    linkSync(join(root, "br-a.1", "wal", segment(1)), join(directory.path, "shared"));
    // A segment that goes while all are counted has no bytes either.
    symlinkSync("gone", join(root, "br-a.1", "wal", segment(2)));
    expect(histories.state(data)?.bytes).toBe(0);
    await histories.remove(data);
    expect([existsSync(join(root, "br-a.1")), histories.state(data)]).toEqual([false, undefined]);
  });

  it("counts a part of a long log for all of it, as each file that is looked at holds up everybody", async () => {
    await addBase(history, 1000, 1, 500);
    const log = join(root, "br-a.1", "wal");
    for (let number = 1; number <= 2000; number += 1) writeFileSync(join(log, segment(number)), "0123456789");
    const look = vi.spyOn(fs, "statSync");
    syncBuiltinESMExports();
    onTestFinished(() => {
      look.mockRestore();
      syncBuiltinESMExports();
    });
    expect(histories.state(data)?.bytes).toBe(500 + 20_000);
    expect(look).toHaveBeenCalledTimes(1000);
  });
});

it("places segments in the log as Postgres names them", () => {
  expect(placeAt(positionOf("0/10F5F50"))).toBe("0000000000000010");
  expect(placeAt(positionOf("2/FFF00000"))).toBe("0000000200000FFF");
  const names = ["00000002.history", "0000000A.history", "0000000A.history.backup", "000000010000000000000001"];
  expect(names.map(isTimelineHistory)).toEqual([true, true, false, false]);
});

describe("the keeper", () => {
  const mebibyte = 1024 ** 2;
  let bases: string[];
  let problems: string[];
  let size: number;
  let measured: number;
  let keeper: HistoryKeeper;
  let others: KeptServer[];
  beforeEach(() => {
    others = [];
    bases = [];
    problems = [];
    [size, measured] = [0, 0];
    keeper = new HistoryKeeper({
      clock: realClock,
      running: () => [...others, { endpoint: { type: "read_write", branchId: "br-a", projectId: "p" }, data }],
      histories,
      addBase: async (branchId) => {
        bases.push(branchId);
        await addBase(history, 1000 + bases.length, 1 + 400 * (bases.length - 1));
      },
      sizeOf: () => {
        measured += 1;
        return Promise.resolve(size);
      },
      ownerOf: (projectId) => `owner of ${projectId}`,
      keptSince: () => 0,
      onProblem: (message) => problems.push(message),
    });
  });

  it("gives data of an earlier version of the service its first base, and none for a replica", async () => {
    others.push({ endpoint: { type: "read_only", branchId: "br-b", projectId: "p" }, data });
    await keeper.keep();
    await keeper.keep();
    expect(bases).toEqual(["br-a"]);
  });

  it("adds a base each time that the log since the last one is larger than the data and than 256 MiB, and keeps two", async () => {
    for (const at of [400, 500]) await addBase(history, at, 1);
    const run = async (from: number, to: number) => {
      complete(...Array.from({ length: to - from + 1 }, (_, index) => from + index));
      await keeper.keep();
      return bases.length;
    };
    expect([await run(1, 256), measured]).toEqual([0, 0]);
    size = 300 * mebibyte;
    expect(await run(257, 300)).toBe(0);
    expect(await run(301, 301)).toBe(1);
    expect((await history.bases()).map(({ at }) => at)).toEqual([500, 1001]);
    // Its own begins at the first segment as well.
    expect(await run(302, 302)).toBe(2);
  });

  it("keeps a branch's history also while another's cannot be kept", async () => {
    const lost = join(directory.path, "br-lost.1");
    mkdirSync(join(lost, "pg_wal", "archive_status"), { recursive: true });
    writeFileSync(join(lost, "pg_wal", "archive_status", `${segment(1)}.ready`), "");
    others.push({ endpoint: { type: "read_write", branchId: "br-lost", projectId: "q" }, data: lost });
    complete(1);
    await keeper.keep();
    expect(problems).toEqual([expect.stringMatching(/^the history of branch br-lost cannot be kept: ENOENT/)]);
    expect(bases).toEqual(["br-a"]);
  });

  it("nothing is kept of a branch whose server has ended: why its history cannot be kept is said again after that", async () => {
    const lost = join(directory.path, "br-lost.1");
    mkdirSync(join(lost, "pg_wal", "archive_status"), { recursive: true });
    writeFileSync(join(lost, "pg_wal", "archive_status", `${segment(1)}.ready`), "");
    const server: KeptServer = { endpoint: { type: "read_write", branchId: "br-lost", projectId: "q" }, data: lost };
    for (const running of [[server], [server], [], [server]]) {
      others = running;
      await keeper.keep();
    }
    expect(problems).toHaveLength(2);
  });

  it("takes the log of branches also while the base of one of them is held up, for which its end waits", async () => {
    const clock = new VirtualClock();
    const held = Promise.withResolvers<void>();
    const busy = new HistoryKeeper({
      clock,
      running: () => [{ endpoint: { type: "read_write", branchId: "br-a", projectId: "p" }, data }],
      histories,
      addBase: () => held.promise,
      sizeOf: () => Promise.resolve(0),
      ownerOf: (projectId) => `owner of ${projectId}`,
      keptSince: () => 0,
      onProblem: (message) => problems.push(message),
    });
    busy.begin();
    for (const number of [1, 2, 3]) {
      complete(number);
      await clock.advance(5000);
      await expect.poll(() => existsSync(join(data, "pg_wal", "archive_status", `${segment(number)}.done`))).toBe(true);
      await expect.poll(() => clock.pending).toBe(1);
    }
    let isClosed = false;
    const closed = busy.close().then(() => (isClosed = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    held.resolve();
    await closed;
    expect(problems).toEqual([]);
  });

  it("adds the base of a branch while one of another owner's is held up, but not while one of its own owner's is", async () => {
    const held = Promise.withResolvers<void>();
    const begun: string[] = [];
    const server = (branchId: string, projectId: string): KeptServer => ({
      endpoint: { type: "read_write", branchId, projectId },
      data,
    });
    const running = [server("br-a", "p"), server("br-b", "p-2"), server("br-c", "q")];
    const busy = new HistoryKeeper({
      clock: realClock,
      running: () => [...running],
      histories,
      addBase: (branchId) => {
        begun.push(branchId);
        return held.promise;
      },
      sizeOf: () => Promise.resolve(0),
      ownerOf: (projectId) => `owner of ${projectId.charAt(0)}`,
      keptSince: () => 0,
      onProblem: (message) => problems.push(message),
    });
    const first = busy.keep();
    await expect.poll(() => begun).toEqual(["br-a", "br-c"]);
    running.push(server("br-d", "r"));
    const second = busy.keep();
    await expect.poll(() => begun).toEqual(["br-a", "br-c", "br-d"]);
    held.resolve();
    await Promise.all([first, second]);
    expect([begun, problems]).toEqual([["br-a", "br-c", "br-d", "br-b"], []]);
  });

  it("looks every five seconds, and no more once it is closed, also amid a look", async () => {
    const clock = new VirtualClock();
    const looked = Promise.withResolvers<number>();
    let looks = 0;
    const timed = new HistoryKeeper({
      clock,
      running: () => {
        looks += 1;
        return [{ endpoint: { type: "read_write", branchId: "br-a", projectId: "p" }, data }];
      },
      histories,
      addBase: () => addBase(history, 1000, 1),
      sizeOf: () => looked.promise,
      ownerOf: (projectId) => `owner of ${projectId}`,
      keptSince: () => 0,
      onProblem: (message) => problems.push(message),
    });
    timed.begin();
    await clock.advance(4999);
    expect(looks).toBe(0);
    await clock.advance(1);
    await expect.poll(() => [looks, clock.pending]).toEqual([1, 1]);
    complete(2);
    await clock.advance(5000);
    const closed = timed.close().then(() => clock.pending);
    looked.resolve(0);
    expect([await closed, looks, problems]).toEqual([0, 2, []]);
  });

  it("says once why a history cannot be kept, and again after it could", async () => {
    rmSync(root, { recursive: true });
    writeFileSync(root, "");
    complete(1);
    await keeper.keep();
    await keeper.keep();
    expect(problems).toEqual([expect.stringMatching(/^the history of branch br-a cannot be kept: /)]);
    rmSync(root);
    await keeper.keep();
    rmSync(root, { recursive: true });
    writeFileSync(root, "");
    complete(2);
    await keeper.keep();
    expect(problems).toHaveLength(2);
  });
});
