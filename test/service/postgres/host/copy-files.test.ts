import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyFiles, copyFilesInThread } from "../../../../src/service/postgres/host/copy-files.ts";

let home: string;
beforeEach(() => {
  home = fs.mkdtempSync(path.join(tmpdir(), "compute-operator-copy-files-"));
  for (const name of ["from", "to"]) fs.mkdirSync(path.join(home, name));
  for (const name of ["one", "two"]) fs.writeFileSync(path.join(home, "from", name), name);
});
afterEach(() => {
  fs.rmSync(home, { recursive: true });
});

/** Copies, on a system whose program for a sync ends with this status; answers what was synced. */
function synced(status: number | null, hardLinks = false): string[] {
  const said: string[] = [];
  const [from, to] = [path.join(home, "from"), path.join(home, "to")];
  const spawnSync = (program: string, args: readonly string[]) => {
    said.push([program, ...args].join(" ").replace(home, ""));
    return { status };
  };
  const fsyncSync = (descriptor: number) => {
    said.push(`a file of ${fs.fstatSync(descriptor).size} bytes`);
    opened.push(descriptor);
  };
  const closeSync = (descriptor: number) => {
    closed.push(descriptor);
    fs.closeSync(descriptor);
  };
  const [opened, closed]: [number[], number[]] = [[], []];
  copyFiles(
    { from, to, files: ["one", "gone", "two"], owner: undefined, hardLinks },
    { fs: { ...fs, fsyncSync, closeSync }, path, childProcess: { spawnSync } },
  );
  expect(fs.readdirSync(to)).toEqual(["one", "two"]);
  expect(closed).toEqual(opened);
  expect(fs.readFileSync(path.join(to, "one"), "utf8")).toBe("one");
  return said;
}

describe("copies of files", () => {
  it("copies are synced together with their file system", () => {
    expect(synced(0)).toEqual(["sync -f /to"]);
  });

  it("copies are synced one by one where the system has no program for that", () => {
    expect(synced(null)).toEqual(["sync -f /to", "a file of 3 bytes", "a file of 3 bytes"]);
  });

  it.each([false, true])(
    "copies are given to the one whom they are to belong to; where no link can be made: %s",
    (hardLinks) => {
      const given: string[] = [];
      const chownSync = (file: fs.PathLike, uid: number, gid: number) => {
        given.push(`${path.basename(String(file))} ${uid}:${gid}`);
      };
      const linkSync = () => {
        throw new Error("another file system");
      };
      copyFiles(
        {
          from: path.join(home, "from"),
          to: path.join(home, "to"),
          files: ["one", "two"],
          owner: { uid: 7, gid: 8 },
          hardLinks,
        },
        { fs: { ...fs, chownSync, linkSync }, path, childProcess: { spawnSync: () => ({ status: 0 }) } },
      );
      expect(given).toEqual(["one 7:8", "two 7:8"]);
    },
  );

  it("a file that cannot be copied fails the copy, unless it has vanished", () => {
    const copyFileSync = (file: fs.PathLike) => {
      throw Object.assign(new Error("no room"), { code: String(file).endsWith("gone") ? "ENOENT" : "ENOSPC" });
    };
    const copied = (file: string) => () => {
      const spawnSync = () => ({ status: 0 });
      const modules = { fs: { ...fs, copyFileSync }, path, childProcess: { spawnSync } };
      copyFiles({ from: home, to: home, files: [file], owner: undefined, hardLinks: false }, modules);
    };
    expect(copied("gone")).not.toThrow("no room");
    expect(copied("one")).toThrow("no room");
  });

  it("a copy that stands in for a link is synced as every other: no other file has its content", () => {
    const [from, to, said] = [path.join(home, "from"), path.join(home, "to"), [] as string[]];
    const linkSync = (source: fs.PathLike, copy: fs.PathLike) => {
      if (String(source).endsWith("two")) throw new Error("too many links");
      fs.linkSync(source, copy);
    };
    const fsyncSync = (descriptor: number) => void said.push(`${fs.fstatSync(descriptor).ino}`);
    const modules = { fs: { ...fs, linkSync, fsyncSync }, path, childProcess: { spawnSync: () => ({ status: null }) } };
    copyFiles({ from, to, files: ["one", "two"], owner: undefined, hardLinks: true }, modules);
    expect(said).toEqual([`${fs.statSync(path.join(to, "two")).ino}`]);
  });

  it("copies are links where that is wanted, which need no sync", () => {
    expect(synced(0, true)).toEqual([]);
    expect(fs.statSync(path.join(home, "to", "one")).nlink).toBe(2);
  });
});

it("files that cannot be copied end the copy with the reason", async () => {
  const [from, to] = [path.join(home, "from"), path.join(home, "to")];
  fs.mkdirSync(path.join(from, "directory"));
  const copying = copyFilesInThread({ from, to, files: ["one", "directory"], owner: undefined, hardLinks: false });
  await expect(copying).rejects.toThrow(/directory/);
});
