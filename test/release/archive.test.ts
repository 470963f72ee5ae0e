import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Entry, writeArchive } from "../../scripts/release/archive.ts";
import { temporaryDirectory } from "../support/guardian.ts";

it("an archive depends on content and time only, not on order, modes, times and owners of the files", () => {
  const directory = temporaryDirectory("archive");
  try {
    const source = join(directory.path, "source");
    const options = { staging: join(directory.path, "staging"), time: new Date(1_700_000_000_000), compressed: true };
    const written = (name: string, files: ReadonlyArray<readonly [string, Entry]>, mode: number, time: number) => {
      writeFileSync(source, "text");
      chmodSync(source, mode);
      utimesSync(source, time, time);
      const output = join(directory.path, name);
      writeArchive({ files: new Map(files), executable: ["a/run"] }, { ...options, output });
      return readFileSync(output);
    };
    const [text, run] = [["b", { file: source }] as const, ["a/run", { content: "#!/bin/sh\n" }] as const];
    const first = written("1.tgz", [text, run], 0o600, 1);
    expect(written("2.tgz", [run, text], 0o777, 1_000_000)).toEqual(first);
    const listed = execFileSync("tar", ["-tvzf", join(directory.path, "1.tgz"), "--utc"], { encoding: "utf8" });
    expect(
      listed
        .trim()
        .split("\n")
        .map((line) => line.split(/\s+/)),
    ).toEqual([
      ["-rwxr-xr-x", "0/0", "10", "2023-11-14", "22:13", "a/run"],
      ["-rw-r--r--", "0/0", "4", "2023-11-14", "22:13", "b"],
    ]);
  } finally {
    directory.remove();
  }
});
