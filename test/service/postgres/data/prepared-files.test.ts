import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { forgetPrepared, mayHavePrepared, preparedIn } from "../../../../src/service/postgres/data/prepared-files.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";

let directory: ReturnType<typeof temporaryDirectory>;
const files = (...names: string[]) => names.map((name) => join(directory.path, "pg_twophase", name));
beforeEach(() => {
  directory = temporaryDirectory("prepared-files");
  for (const part of ["pg_twophase", "global"]) mkdirSync(join(directory.path, part));
});
afterEach(() => directory.remove());

/** The server's state, in the fifth word: 1 where it was shut down in order, 6 where it ran. */
function leave(state: number): void {
  writeFileSync(join(directory.path, "global", "pg_control"), Buffer.from(new Uint32Array([0, 0, 0, 0, state]).buffer));
}

it("data has no prepared transaction where it was shut down in order and has no file of one: else its log may", async () => {
  leave(1);
  expect(await mayHavePrepared(directory.path)).toBe(false);
  leave(6);
  expect(await mayHavePrepared(directory.path)).toBe(true);
  leave(1);
  for (const file of files("000002E6")) writeFileSync(file, "");
  expect(await mayHavePrepared(directory.path)).toBe(true);
});

it("the files of prepared transactions go by their numbers, with an epoch before it or without", async () => {
  for (const file of files("000002E6", "00000000000002E7", "000002E8")) writeFileSync(file, "");
  await forgetPrepared(directory.path, ["742", "743"]);
  expect(await preparedIn(directory.path)).toEqual(files("000002E8"));
});
