import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { eachFile, removeTree, sizeOf } from "../../../../src/service/postgres/host/each-file.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";

let directory: ReturnType<typeof temporaryDirectory>;
let data: string;
beforeEach(() => {
  directory = temporaryDirectory("each-file");
  data = join(directory.path, "data");
  mkdirSync(join(data, "base", "5"), { recursive: true });
  for (let number = 0; number < 200; number += 1) writeFileSync(join(data, "base", "5", `${number}`), "12345");
  writeFileSync(join(data, "PG_VERSION"), "18");
});
afterEach(() => directory.remove());

/** Counts what the system is asked for by a function of Node's, and how much of that at once. */
function asked(name: "lstat" | "rm"): { all: number; most: number } {
  const seen = { all: 0, most: 0 };
  let now = 0;
  const real = promises[name];
  const watched = new Proxy(real, {
    async apply(target, self, args: unknown[]) {
      now += 1;
      Object.assign(seen, { all: seen.all + 1, most: Math.max(seen.most, now) });
      try {
        const answer: unknown = await Reflect.apply(target, self, args);
        return answer;
      } finally {
        now -= 1;
      }
    },
  });
  Object.assign(promises, { [name]: watched });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(promises, { [name]: real });
    syncBuiltinESMExports();
  });
  return seen;
}

describe("the files of data, of which a client makes as many as it likes", () => {
  it("the system is asked for the sizes of a few files at a time, and all count", async () => {
    const { seen, size } = { seen: asked("lstat"), size: await sizeOf(data) };
    expect(size).toBe(200 * 5 + 2);
    expect(seen.all).toBe(201);
    expect(seen.most).toBeLessThanOrEqual(32);
  });

  it("a few files are removed at a time, and nothing is left", async () => {
    symlinkSync("gone", join(data, "base", "link"));
    const seen = asked("rm");
    await removeTree(data);
    expect(existsSync(data)).toBe(false);
    expect(seen.all).toBeGreaterThanOrEqual(202);
    expect(seen.most).toBeLessThanOrEqual(32);
  });

  it("a removal leaves the other files of a directory where there is no time, and goes on with them later", async () => {
    const seen = asked("rm");
    await removeTree(data, () => seen.all >= 32);
    expect(seen.all).toBeLessThan(66);
    expect(existsSync(data)).toBe(true);
    await removeTree(data);
    expect(existsSync(data)).toBe(false);
  });

  it("a file or a link is removed alone, and not what is behind it; what is not there has no files", async () => {
    const link = join(directory.path, "link");
    symlinkSync(data, link);
    for (const path of [join(data, "PG_VERSION"), link, join(data, "nowhere")]) {
      await removeTree(path);
      expect(existsSync(path)).toBe(false);
    }
    expect(await sizeOf(data)).toBe(200 * 5);
    expect(await sizeOf(join(data, "nowhere"))).toBe(0);
  });

  it("a file that cannot be dealt with fails all, once", async () => {
    await expect(eachFile(data, () => Promise.reject(new Error("no such right")))).rejects.toThrow("no such right");
  });
});
