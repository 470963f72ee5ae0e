import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copyTree, renameDurably } from "../../../../src/service/postgres/host/copy-tree.ts";
import { atEach } from "../at-each.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "compute-operator-copy-tree-"));
});
afterEach(() => rmSync(home, { recursive: true }));

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
    expect(readFileSync(join(to, "link"), "utf8")).toBe("one");
  });

  it("what is no directory, or cannot be read, is not copied as if it held nothing", async () => {
    writeFileSync(join(home, "file"), "");
    await expect(copyTree(join(home, "file"), join(home, "to"), { owner: undefined })).rejects.toThrow(/ENOTDIR/);
    expect(existsSync(join(home, "to"))).toBe(false);
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
