import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findPooler } from "../../../src/service/postgres/pooler.ts";
import { temporaryDirectory } from "../../support/guardian.ts";

function directories(): string {
  const directory = temporaryDirectory("find-pooler");
  onTestFinished(() => directory.remove());
  const place = (name: string) => join(directory.path, name);
  for (const name of ["empty", "directory/pgbouncer", "text", "first", "second"]) {
    mkdirSync(place(name), { recursive: true });
  }
  for (const name of ["text", "first", "second"]) writeFileSync(join(place(name), "pgbouncer"), "");
  for (const name of ["first", "second"]) chmodSync(join(place(name), "pgbouncer"), 0o755);
  return directory.path;
}

test("PgBouncer is the first program of its name in the directories of PATH", async () => {
  const root = directories();
  const among = (...names: string[]) => findPooler(names.map((name) => join(root, name)).join(delimiter));
  expect(await among("missing", "empty", "directory", "text", "first", "second")).toBe(join(root, "first/pgbouncer"));
  expect(await among("directory", "text", "empty")).toBeUndefined();
  expect(await findPooler("")).toBeUndefined();
});

test("its path is absolute, as it is started elsewhere", async () => {
  const root = directories();
  expect(await findPooler(relative(process.cwd(), join(root, "first")))).toBe(join(root, "first/pgbouncer"));
});
