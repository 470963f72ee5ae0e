import {
  Dir,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import workerThreads, { type WorkerOptions } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { copyTree, renameDurably } from "../../../../src/service/postgres/host/copy-tree.ts";
import { atEach } from "../at-each.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "compute-operator-copy-tree-"));
});
afterEach(() => rmSync(home, { recursive: true }));

/** Where a link leads; `undefined` where it is gone. */
function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

describe("a copy of a directory", () => {
  it("a copy of a directory has files, directories and links, and nothing that is skipped or vanishes", async () => {
    const [from, to] = [join(home, "from"), join(home, "to")];
    mkdirSync(join(from, "a", "b"), { recursive: true });
    for (const name of ["one", "a/two", "a/b/three", "a/skipped"]) writeFileSync(join(from, name), name);
    symlinkSync("one", join(from, "link"));
    await copyTree(from, to, {
      owner: undefined,
      skip: (path) => {
        if (path === "a/two") rmSync(join(from, "a/two"));
        return path === "a/skipped";
      },
    });
    expect(readdirSync(to, { recursive: true, encoding: "utf8" }).toSorted()).toEqual([
      "a",
      "a/b",
      "a/b/three",
      "link",
      "one",
    ]);
    expect(readlinkSync(join(to, "link"))).toBe("one");
  });

  it("what is no directory, or cannot be read, is not copied as if it held nothing", async () => {
    writeFileSync(join(home, "file"), "");
    await expect(copyTree(join(home, "file"), join(home, "to"), { owner: undefined })).rejects.toThrow(/ENOTDIR/);
    expect(existsSync(join(home, "to"))).toBe(false);
  });

  it("no directory stays open where its copy cannot be made", async () => {
    mkdirSync(join(home, "from"));
    writeFileSync(join(home, "file"), "");
    const open = () =>
      existsSync("/proc/self/fd")
        ? readdirSync("/proc/self/fd").filter((fd) => linkOf(join("/proc/self/fd", fd)) === join(home, "from"))
        : [];
    await expect(copyTree(join(home, "from"), join(home, "file", "to"), { owner: undefined })).rejects.toThrow(
      /ENOTDIR/,
    );
    expect(open()).toEqual([]);
  });

  it("a copy is made with the first releases of Node 24 too, which dispose of no directory that is closed", async () => {
    mkdirSync(join(home, "from"));
    const disposer = Object.getOwnPropertyDescriptor(Dir.prototype, Symbol.asyncDispose);
    const close = Object.getOwnPropertyDescriptor(Dir.prototype, "close");
    Object.defineProperty(Dir.prototype, Symbol.asyncDispose, { ...close });
    try {
      await copyTree(join(home, "from"), join(home, "to"), { owner: undefined });
    } finally {
      Object.defineProperty(Dir.prototype, Symbol.asyncDispose, { ...disposer });
    }
    expect(readdirSync(join(home, "to"))).toEqual([]);
  });

  it("files of a copy are its own, unless links are asked for: what is written to one changes no other", async () => {
    const [from, own, linked] = [join(home, "from"), join(home, "own"), join(home, "linked")];
    mkdirSync(from);
    writeFileSync(join(from, "one"), "one");
    await copyTree(from, own, { owner: undefined });
    await copyTree(from, linked, { owner: undefined, hardLinks: true });
    writeFileSync(join(from, "one"), "other");
    expect([own, linked].map((directory) => readFileSync(join(directory, "one"), "utf8"))).toEqual(["one", "other"]);
  });

  it("no listing and no thread has all files of a copy at once, of which a client makes as many as it likes", async () => {
    const [from, to] = [join(home, "from"), join(home, "to")];
    mkdirSync(from);
    for (let number = 0; number < 10_001; number += 1) writeFileSync(join(from, `${number}`), "");
    const { readdir } = promises;
    const { Worker } = workerThreads;
    onTestFinished(() => {
      Object.assign(promises, { readdir });
      Object.assign(workerThreads, { Worker });
      syncBuiltinESMExports();
    });
    const given: number[] = [];
    class Watched extends Worker {
      constructor(program: string, options: WorkerOptions & { workerData: { files: string[] } }) {
        given.push(options.workerData.files.length);
        super(program, options);
      }
    }
    Object.assign(promises, { readdir: () => Promise.reject(new Error("all at once")) });
    Object.assign(workerThreads, { Worker: Watched });
    syncBuiltinESMExports();
    await copyTree(from, to, { owner: undefined, hardLinks: true });
    expect(given).toEqual([10_000, 1]);
    expect(readdirSync(to)).toHaveLength(10_001);
  });

  it("a copy that nobody needs any more ends amid its files, and copies none where it has not begun with them", async () => {
    const [from, to] = [join(home, "from"), join(home, "to")];
    mkdirSync(from);
    writeFileSync(join(from, "one"), "one");
    const { Worker } = workerThreads;
    onTestFinished(() => {
      Object.assign(workerThreads, { Worker });
      syncBuiltinESMExports();
    });
    const begun = Promise.withResolvers<void>();
    class Endless extends Worker {
      constructor() {
        super("setInterval(() => {}, 1000)", { eval: true });
        this.once("online", () => begun.resolve());
      }
    }
    Object.assign(workerThreads, { Worker: Endless });
    syncBuiltinESMExports();
    const ending = new AbortController();
    const copy = () => copyTree(from, to, { owner: undefined, ends: ending.signal });
    const copying = copy();
    await begun.promise;
    ending.abort(new Error("nobody needs it"));
    await expect(copying).rejects.toThrow("nobody needs it");
    Object.assign(workerThreads, { Worker });
    syncBuiltinESMExports();
    await expect(copy()).rejects.toThrow("nobody needs it");
    expect(readdirSync(to)).toEqual([]);
  });

  it("the directories of a copy are synced when they have their files, also where those are links", async () => {
    const [from, to] = [join(home, "from"), join(home, "to")];
    mkdirSync(join(from, "a"), { recursive: true });
    for (const name of ["one", "a/two"]) writeFileSync(join(from, name), name);
    const onDisk = await atEach("sync", ({ ino }) => [ino, existsSync(join(to, "one")), existsSync(join(to, "a/two"))]);
    await copyTree(from, to, { owner: undefined, hardLinks: true });
    expect(onDisk).toEqual([to, join(to, "a")].map((directory) => [statSync(directory).ino, true, true]));
  });
});

it("renames so that the disk knows the new name: its directory is synced afterwards", async () => {
  const [from, to] = [join(home, "from"), join(home, "below", "to")];
  mkdirSync(join(home, "below"));
  writeFileSync(from, "");
  const onDisk = await atEach("sync", ({ ino }) => [ino, existsSync(to)]);
  await renameDurably(from, to);
  expect(onDisk).toEqual([[statSync(join(home, "below")).ino, true]]);
});
