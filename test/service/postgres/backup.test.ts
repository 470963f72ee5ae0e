import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { beginRecoveryAgain, copyRunning } from "../../../src/service/postgres/backup.ts";
import { Slots } from "../../../src/service/postgres/slots.ts";
import { temporaryDirectory } from "../../support/guardian.ts";

const { path: home, remove } = temporaryDirectory("backup");
afterAll(remove);

it("a copy of a running server has the log that it needs, and no mark of a segment that it lacks", async () => {
  const [from, to] = [join(home, "from"), join(home, "to")];
  const [before, needed] = ["000000010000000000000001", "000000010000000000000002"];
  mkdirSync(join(from, "pg_wal", "archive_status"), { recursive: true });
  writeFileSync(join(from, "PG_VERSION"), "17");
  for (const name of [before, needed]) {
    writeFileSync(join(from, "pg_wal", name), name);
    writeFileSync(join(from, "pg_wal", "archive_status", `${name}.ready`), "");
  }
  const answers = (sql: string) => {
    if (sql.includes("pg_backup_start")) return [[needed]];
    return sql.includes("pg_backup_stop") ? [["label", needed, "0/2000100"]] : [];
  };
  const client = { query: (sql: string) => Promise.resolve(answers(sql)) };
  const copied = await copyRunning(from, to, client, { owner: undefined, slots: new Slots(1) });
  expect(copied).toEqual({ first: needed, last: needed, consistentAt: "0/2000100" });
  expect(readdirSync(to, { recursive: true, encoding: "utf8" }).toSorted()).toEqual([
    "PG_VERSION",
    "backup_label",
    "pg_wal",
    join("pg_wal", needed),
    join("pg_wal", "archive_status"),
  ]);
});

it.each([
  ["shut down while it recovered", 2, [], "backup_label"],
  ["killed while it recovered", 5, [], "backup_label"],
  ["shut down", 1, [], "backup_label.old"],
  ["killed in production", 6, [], "backup_label.old"],
  ["killed while it recovered from a crash", 4, [], "backup_label.old"],
  ["that of a standby", 5, ["standby.signal"], "backup_label.old"],
])("a server that was %s begins as it has to", async (_, state, more, label) => {
  const data = join(home, `state-${state}-${more.length}`);
  mkdirSync(join(data, "global"), { recursive: true });
  const control = Buffer.alloc(512);
  control.writeUInt32LE(state, 16);
  writeFileSync(join(data, "global", "pg_control"), control);
  for (const name of ["backup_label.old", ...more]) writeFileSync(join(data, name), "");
  await beginRecoveryAgain(data);
  expect(readdirSync(data).toSorted()).toEqual([label, "global", ...more]);
});
