import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { segmentBytes } from "../../../src/service/postgres/data/segments.ts";
import { type BranchHistory, linked, stoppedBase } from "../../../src/service/postgres/history/branch-history.ts";
import type { Histories } from "../../../src/service/postgres/history/histories.ts";
import { temporaryDirectory } from "../../support/guardian.ts";
import { atEach } from "./at-each.ts";
import { addBase, historyIn, segment } from "./history-in.ts";

const me = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
/** Only root gives files to another user. */
const owner = me.uid === 0 ? { uid: 65_534, gid: 65_533 } : me;

let directory: ReturnType<typeof temporaryDirectory>;
let root: string;
let data: string;
let histories: Histories;
let history: BranchHistory;
beforeEach(() => {
  directory = temporaryDirectory("branch-history");
  ({ root, data, histories, history } = historyIn(directory.path, owner));
});
afterEach(() => directory.remove());

const timeline = "00000002.history";

/** A server has files of its log, and marks those as complete that it needs no more. */
function log(names: readonly string[], complete = names): void {
  for (const name of names) writeFileSync(join(data, "pg_wal", name), `of the server: ${name}`);
  for (const name of complete) writeFileSync(join(data, "pg_wal", "archive_status", `${name}.ready`), "");
}

const inLog = (name = "br-a.1") => readdirSync(join(root, name, "wal")).toSorted();

describe("the bases of a history", () => {
  it("bases are given oldest first, however many digits their times have, and what is no base is passed over", async () => {
    for (const at of [10_000, 9, 500, 70, 1000]) await addBase(history, at, 1, 7);
    mkdirSync(join(root, "br-a.1", "bases", "making"));
    expect((await history.bases()).map(({ at }) => at)).toEqual([9, 70, 500, 1000, 10_000]);
    expect(histories.state(data)).toMatchObject({ since: 9, position: 1n << 20n, bytes: 35 });
  });

  it("bases that cannot be read are an error, and not a branch that has no past", () => {
    rmSync(join(root, "br-a.1"), { recursive: true, force: true });
    expect(histories.state(data)).toBeUndefined();
    mkdirSync(join(root, "br-a.1"));
    writeFileSync(join(root, "br-a.1", "bases"), "no directory");
    expect(() => histories.state(data)).toThrow("ENOTDIR");
  });

  it("a base is the newest by the log, and stays, although the clock was set back before it", async () => {
    log([5, 6, 7].map((number) => segment(number)));
    await addBase(history, 2000, 1);
    await addBase(history, 4000, 3);
    await addBase(history, 3000, 6);
    await history.archive(data);
    expect(await history.segmentsSinceBase()).toBe(2);
    await history.prune(1000);
    expect((await history.bases()).map(({ at }) => at)).toEqual([4000, 3000]);
  });

  it("a base whose making was broken off is made again, and nothing is left of the first try", async () => {
    const making = join(root, "br-a.1", "bases", "making");
    mkdirSync(join(making, "global"), { recursive: true });
    writeFileSync(join(making, "global", "half"), "");
    const onDisk = await atEach("sync", ({ ino }) => [ino, existsSync(making)]);
    await addBase(history, 1000, 1, 7);
    expect(onDisk).toEqual([[statSync(join(root, "br-a.1", "bases")).ino, false]]);
    const [base] = await history.bases();
    expect(readdirSync(base?.directory ?? "")).toEqual(["rows"]);
    expect(readdirSync(join(root, "br-a.1", "bases"))).toHaveLength(1);
  });

  it("nothing is left of a base that cannot be made: its server may not run again", async () => {
    const making = history.addBase((to) => {
      mkdirSync(to);
      writeFileSync(join(to, "half"), "");
      return Promise.reject(new Error("no space left on device"));
    });
    await expect(making).rejects.toThrow("no space left on device");
    expect(readdirSync(join(root, "br-a.1", "bases"))).toEqual([]);
  });

  it("a base of data that does not run begins at its last checkpoint", async () => {
    const control = Buffer.alloc(40);
    control.writeBigUInt64LE(5n << 20n, 32);
    mkdirSync(join(data, "global"));
    writeFileSync(join(data, "global", "pg_control"), control);
    const made = await stoppedBase(data, 77, (to) => Promise.resolve(to.length))("four");
    expect(made).toEqual({ at: 77, position: 5n << 20n, place: segment(5).slice(8), bytes: 4 });
  });

  it("files that never change are shared with a base, which then takes no room", async () => {
    writeFileSync(join(data, "rows"), "all");
    const copy = join(directory.path, "copy");
    expect(await linked(data, copy, undefined)).toBe(0);
    expect(statSync(join(copy, "rows")).ino).toBe(statSync(join(data, "rows")).ino);
    const given = join(directory.path, "given");
    await linked(data, given, owner);
    expect(statSync(given).uid).toBe(owner.uid);
  });

  it("a branch inherits a base of the very position at which it leaves its parent, and none of later, as one made meanwhile", async () => {
    for (const [at, number] of [
      [1000, 1],
      [2000, 2],
      // The clock was set back.
      [1500, 3],
    ] as const)
      await addBase(history, at, number, 7);
    const child = histories.of("br-b.1");
    await child.inherit(history, { position: 2n << 20n, place: segment(2).slice(8) });
    expect((await child.bases()).map(({ at }) => at)).toEqual([1000, 2000]);
  });
});

it("a branch inherits a base as a whole or not at all, though it is removed at that moment", async () => {
  const files = Array.from({ length: 300 }, (_, index) => `file ${index}`);
  const add = (at: number) =>
    history.addBase((place) => {
      mkdirSync(place);
      for (const name of files) writeFileSync(join(place, name), "");
      return Promise.resolve({ at, position: BigInt(at), place: segment(1).slice(8), bytes: 0 });
    });
  for (const at of [1000, 2000, 3000]) await add(at);
  log([segment(1)]);
  await history.archive(data);
  const child = histories.of("br-b.1");
  await Promise.all([history.prune(5000), child.inherit(history)]);
  const inherited = await child.bases();
  expect(inherited.map(({ directory: base }) => readdirSync(base).length)).toEqual([files.length]);
});

describe("the log of a history", () => {
  it("a segment and its name are on the disk before Postgres may remove it, and before a copy counts", async () => {
    log([segment(1)]);
    const wal = join(root, "br-a.1", "wal");
    const marks = join(data, "pg_wal", "archive_status");
    const [ready, done] = [[`${segment(1)}.ready`], [`${segment(1)}.done`]];
    const onDisk = await atEach("sync", ({ ino }) => [ino, readdirSync(wal), readdirSync(marks)]);
    const ofWal = () => [statSync(join(wal, segment(1))).ino, statSync(wal).ino];
    await history.archive(data);
    const [file, names] = ofWal();
    expect(onDisk.splice(0)).toEqual([
      [file, ["making"], ready],
      [names, [segment(1)], ready],
    ]);
    await history.takeCopied(data);
    expect(onDisk.splice(0).map(([ino]) => ino)).toEqual(ofWal());
    await histories.of("br-b.1").inherit(history);
    expect(onDisk.map(([ino]) => ino)).toEqual([statSync(join(root, "br-b.1", "wal")).ino]);
    expect(readdirSync(marks)).toEqual(done);
  });

  it("a branch inherits no segment that is being taken, whose file both would write: only whole ones, and timelines", async () => {
    log([segment(1), segment(4), timeline]);
    await history.archive(data);
    const wal = join(root, "br-a.1", "wal");
    // As a service leaves it that is killed, or has it at this moment.
    writeFileSync(join(wal, "making"), "half");
    const child = histories.of("br-b.1");
    await child.inherit(history, { position: 0n, place: segment(3).slice(8) });
    expect(inLog("br-b.1")).toEqual([segment(1), timeline]);
    log([segment(2)]);
    await history.archive(data);
    writeFileSync(join(data, "pg_wal", segment(2)), "of the child");
    await child.takeCopied(data);
    expect(readFileSync(join(wal, segment(2)), "utf8")).toBe(`of the server: ${segment(2)}`);
  });

  it.each(["bases", "wal"])(
    "a branch is not given an empty past where the %s of its parent's cannot be read",
    async (what) => {
      await addBase(history, 1000, 1, 7);
      const place = join(root, "br-a.1", what);
      rmSync(place, { recursive: true });
      writeFileSync(place, "");
      const inherited = histories.of("br-b.1").inherit(history);
      await expect(inherited).rejects.toThrow(/ENOTDIR/);
    },
  );

  it("nothing is made for a server that has completed nothing", async () => {
    log([segment(1)], []);
    expect([await history.archive(data), existsSync(join(root, "br-a.1"))]).toEqual([0, false]);
  });

  it("the log of a recovery is what was taken from a place on, and over it what the server still has", async () => {
    log([segment(1), segment(2), segment(3), timeline]);
    await history.archive(data);
    for (const name of [segment(1), segment(2), timeline]) writeFileSync(join(data, "pg_wal", name), "written over");
    log([segment(4)], []);
    writeFileSync(join(root, "br-a.1", "wal", segment(3)), "an older one");
    const to = join(directory.path, "recovery");
    mkdirSync(to);
    await history.restoreLog(segment(2).slice(8), data, to);
    const found = readdirSync(to).toSorted();
    expect(found).toEqual([segment(2), segment(3), segment(4), timeline]);
    expect(found.map((name) => readFileSync(join(to, name), "utf8"))).toEqual([
      "written over",
      `of the server: ${segment(3)}`,
      `of the server: ${segment(4)}`,
      "written over",
    ]);
    expect(found.map((name) => statSync(join(to, name)).uid)).toEqual(found.map(() => owner.uid));
    const gone = join(directory.path, "gone");
    const kept = join(directory.path, "kept");
    mkdirSync(kept);
    await history.restoreLog(segment(2).slice(8), gone, kept);
    expect(readFileSync(join(kept, segment(2)), "utf8")).toBe(`of the server: ${segment(2)}`);
    expect(readdirSync(kept).toSorted()).toEqual([segment(2), segment(3), timeline]);
  });

  it("segments are counted from the newest base on, and a timeline's history is none", async () => {
    log([1, 2, 3, 4].map(segment).concat(timeline));
    await history.archive(data);
    expect(await history.segmentsSinceBase()).toBe(4);
    await addBase(history, 1000, 1, 7);
    await addBase(history, 1500, 2, 7);
    await addBase(history, 2000, 3, 7);
    expect(await history.segmentsSinceBase()).toBe(2);
    expect(await histories.of("br-none.1").segmentsSinceBase()).toBe(0);
  });
});

describe("the files of a history", () => {
  it("the files are the servers' user's, and their directories that user's alone", async () => {
    log([segment(1)]);
    await history.archive(data);
    const own = join(root, "br-a.1");
    for (const name of ["", "bases", "wal"]) {
      const { uid, gid, mode } = statSync(join(own, name));
      expect([name, uid, gid, mode & 0o777]).toEqual([name, owner.uid, owner.gid, 0o700]);
    }
    expect(statSync(join(own, "wal", segment(1))).uid).toBe(owner.uid);
  });

  it("a history that inherits nothing is there, with its directories", async () => {
    await histories.of("br-b.1").inherit(histories.of("br-none.1"));
    expect(inLog("br-b.1")).toEqual([]);
  });

  it("a history that is not there is removed without an error", async () => {
    await histories.remove("br-none.1");
    expect(await histories.names()).toEqual([]);
  });

  it("segments are taken in turn, whichever caller asks for the history of the data", async () => {
    log([segment(1), segment(2)]);
    const taking = [histories.of(data), histories.of(data)].map((one) => one.archive(data));
    expect(await Promise.all(taking)).toEqual([2, 0]);
  });
});

it("the newest end of a transaction is sought in the log that is taken, and in that of the data", async () => {
  /** A segment whose one record ends a transaction, so many milliseconds after the epoch of Postgres. */
  const withEnd = (number: number, ms: number) => {
    const bytes = Buffer.alloc(segmentBytes);
    bytes.writeUInt16LE(2, 2);
    bytes.writeBigUInt64LE(BigInt(number * segmentBytes), 8);
    const record = bytes.subarray(40);
    record.writeUInt32LE(40, 0);
    record.writeUInt8(1, 17);
    record.writeUInt8(255, 24);
    record.writeUInt8(8, 25);
    record.writeBigInt64LE(BigInt(ms) * 1000n, 26);
    return bytes;
  };
  const epoch = Date.UTC(2000, 0, 1);
  expect(await history.newestEnd(data, 0)).toBe(0);
  await addBase(history, 0, 1);
  writeFileSync(join(root, "br-a.1", "wal", segment(3)), withEnd(3, 70));
  expect(await history.newestEnd(data, 0)).toBe(epoch + 70);
  writeFileSync(join(data, "pg_wal", segment(4)), withEnd(4, 90));
  expect(await history.newestEnd(data, 0)).toBe(epoch + 90);
});
