import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import {
  beginRecoveryAgain,
  canFollow,
  checkpointOf,
  copyRunning,
  copyStopped,
  isCleanlyStopped,
  makeStandby,
  originOf,
  removeStandby,
  segmentsOf,
} from "../../../../src/service/postgres/data/backup.ts";
import { sync } from "../../../../src/service/postgres/host/copy-tree.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";
import { atEach } from "../at-each.ts";
import { FakeData } from "../fake/fake-data.ts";

const { path: home, remove } = temporaryDirectory("backup");
afterAll(remove);

it("a copy of a running server has the log that it needs, the histories of its timelines, and no mark of a segment that it lacks", async () => {
  const [from, to] = [join(home, "from"), join(home, "to")];
  const [before, needed, timeline] = ["000000020000000000000001", "000000020000000000000002", "00000002.history"];
  mkdirSync(join(from, "pg_wal", "archive_status"), { recursive: true });
  writeFileSync(join(from, "PG_VERSION"), "17");
  for (const name of [before, needed, timeline]) {
    writeFileSync(join(from, "pg_wal", name), name);
    writeFileSync(join(from, "pg_wal", "archive_status", `${name}.ready`), "");
  }
  const answers = (sql: string) => {
    if (sql.includes("pg_backup_start")) return [[needed]];
    return sql.includes("pg_backup_stop") ? [["label", needed, "0/2000100"]] : [];
  };
  const client = { query: (sql: string) => Promise.resolve(answers(sql)) };
  const label = join(to, "backup_label");
  const onDisk = await atEach("sync", ({ ino }) => existsSync(label) && [ino, readFileSync(label, "utf8")]);
  const copied = await copyRunning(from, to, client, { owner: undefined });
  // Without its label the copy would seem to be the data of a server that crashed.
  expect(onDisk.slice(-2)).toEqual([label, to].map((path) => [statSync(path).ino, "label"]));
  expect(copied).toEqual({ first: needed, last: needed, consistentAt: "0/2000100" });
  expect(readdirSync(to, { recursive: true, encoding: "utf8" }).toSorted()).toEqual([
    "PG_VERSION",
    "backup_label",
    "pg_wal",
    join("pg_wal", timeline),
    join("pg_wal", needed),
    join("pg_wal", "archive_status"),
  ]);
});

it("a server is asked one thing after another, and keeps its log before the copy begins", async () => {
  const [from, to] = [join(home, "from-busy"), join(home, "to-busy")];
  const segment = "000000010000000000000002";
  mkdirSync(join(from, "pg_wal"), { recursive: true });
  writeFileSync(join(from, "pg_wal", segment), "");
  const [asked, busy]: [string[], boolean[]] = [[], []];
  let running = 0;
  const query = async (sql: string) => {
    busy.push(running > 0);
    asked.push(/pg_\w+\('copy/.exec(sql)?.[0] ?? "other");
    running += 1;
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (sql.includes("replication_slot")) throw new Error("all slots are in use");
    return [[sql.includes("pg_backup_stop") ? "label" : segment, segment, "0/2000100"]];
  };
  await copyRunning(from, to, { query }, { owner: undefined });
  expect(asked).toEqual(["pg_create_physical_replication_slot('copy", "pg_backup_start('copy", "other"]);
  expect(busy).toEqual([false, false, false]);
});

it("a copy of data whose server does not run lacks what is that server's alone, and its replication slots", async () => {
  const [from, to] = [join(home, "from-stopped"), join(home, "to-stopped")];
  for (const name of ["global", "pg_replslot/mine", "pg_wal"]) mkdirSync(join(from, name), { recursive: true });
  for (const name of ["PG_VERSION", "postmaster.pid", "postgresql.conf", "pg_replslot/mine/state", "pg_wal/segment"])
    writeFileSync(join(from, name), "");
  await copyStopped(from, to, undefined);
  const copied = readdirSync(to, { recursive: true, encoding: "utf8" }).toSorted();
  expect(copied).toEqual(["PG_VERSION", "global", "pg_replslot", "pg_wal", join("pg_wal", "segment")]);
});

it.each([[["backup_label", "backup_label.old"]], [[]]])(
  "a recovery begins again with the label that was put away, and not where there is another or none: %j",
  async (labels) => {
    const data = join(home, `labels-${labels.length}`);
    mkdirSync(join(data, "global"), { recursive: true });
    const control = Buffer.alloc(512);
    control.writeUInt32LE(5, 16);
    writeFileSync(join(data, "global", "pg_control"), control);
    for (const name of labels) writeFileSync(join(data, name), name);
    await beginRecoveryAgain(data);
    expect(readdirSync(data).toSorted()).toEqual([...labels, "global"]);
  },
);

it("the log of a directory reaches from its first segment to its last that is written, whatever else lies there", async () => {
  const data = join(home, "log");
  const written = ["000000010000000000000009", "00000002000000000000000A", "000000010000000000000002"];
  mkdirSync(join(data, "pg_wal", "archive_status"), { recursive: true });
  const put = (name: string, place: bigint) => {
    const text = Buffer.alloc(32);
    text.writeBigUInt64LE(place * 1024n ** 2n, 8);
    writeFileSync(join(data, "pg_wal", name), text);
  };
  for (const name of written) put(name, BigInt(`0x${name.slice(8)}`));
  // Of places to come: one has what it had under its name before, and one nothing yet.
  put("00000002000000000000000B", 3n);
  put("00000002000000000000000C", 0n);
  for (const name of ["00000002.history", "000000010000000000000001.partial"])
    writeFileSync(join(data, "pg_wal", name), "");
  expect(await segmentsOf(data)).toEqual({ oldest: written[2], newest: written[1] });
});

it("a log without a written segment, or without any, has no newest one", async () => {
  const data = join(home, "unwritten");
  mkdirSync(join(data, "pg_wal"), { recursive: true });
  expect(await segmentsOf(data)).toEqual({ oldest: "", newest: "" });
  writeFileSync(join(data, "pg_wal", "000000010000000000000009"), "");
  expect(await segmentsOf(data)).toEqual({ oldest: "000000010000000000000009", newest: "" });
});

it.each([
  ["still has the last segment that the standby has", 5, true],
  ["has removed the segment after the last one of the standby", 7, false],
])("a standby whose primary %s goes on from its own data: %s, %s", async (_, oldest, goesOn) => {
  const generation = `br-main.${oldest}`;
  const [own, directory] = [join(home, `own-${oldest}`), join(home, generation)];
  const put = (data: string, place: number) => {
    mkdirSync(join(data, "pg_wal"), { recursive: true });
    const text = Buffer.alloc(32);
    text.writeBigUInt64LE(BigInt(place) * 1024n ** 2n, 8);
    writeFileSync(join(data, "pg_wal", `00000001${place.toString(16).padStart(16, "0")}`), text);
  };
  for (const place of [4, 5]) put(own, place);
  for (const place of [oldest, 9]) put(directory, place);
  mkdirSync(join(own, "global"));
  writeFileSync(join(own, "global", "pg_control"), "");
  writeFileSync(join(own, "compute-operator-origin"), `${generation}\n`);
  expect(await canFollow(own, { generation, directory }, true)).toBe(goesOn);
  expect(await canFollow(own, { generation: "br-main.other", directory }, true)).toBe(false);
});

it("a standby knows of which data it was made, and only its owner may read that", async () => {
  const data = join(home, "standby");
  mkdirSync(data, { recursive: true });
  expect(await originOf(data)).toBeUndefined();
  const onDisk = await atEach("sync", ({ ino }) => [ino, readFileSync(join(data, "compute-operator-origin"), "utf8")]);
  writeFileSync(join(data, "compute-operator-origin"), "");
  await makeStandby(data, "1234", undefined);
  const [signal, origin] = ["standby.signal", "compute-operator-origin"].map((name) => statSync(join(data, name)).ino);
  expect(onDisk).toEqual([
    [signal, ""],
    [origin, "1234\n"],
  ]);
  expect([await originOf(data), readdirSync(data).toSorted()]).toEqual([
    "1234",
    ["compute-operator-origin", "standby.signal"],
  ]);
  expect(statSync(join(data, "standby.signal")).mode & 0o777).toBe(0o600);
});

it("what is left of a standby whose removal is broken off is none: its mark goes before anything else", async () => {
  const [data, link] = [join(home, "standby-left"), join(home, "standby-link")];
  mkdirSync(data);
  writeFileSync(join(data, "rows"), "");
  await makeStandby(data, "1234", undefined);
  // The removal of a link leaves what lies behind it, as one that is broken off would.
  symlinkSync(data, link);
  await removeStandby(link);
  expect([existsSync(link), await originOf(data), readdirSync(data).toSorted()]).toEqual([
    false,
    undefined,
    ["rows", "standby.signal"],
  ]);
});

it("no file stays open that was only looked at", async () => {
  const data = join(home, "looked-at");
  FakeData.initialise(data);
  await checkpointOf(data);
  // Linux says which files are open.
  const open = () => (existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0);
  const before = open();
  for (let times = 0; times < 20; times += 1) {
    await checkpointOf(data);
    await isCleanlyStopped(data);
    await sync(data);
  }
  expect(open()).toBeLessThan(before + 20);
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
  const onDisk = await atEach("sync", ({ ino }) => [ino, existsSync(join(data, "backup_label"))]);
  await beginRecoveryAgain(data);
  expect(readdirSync(data).toSorted()).toEqual([label, "global", ...more]);
  expect(onDisk).toEqual(label === "backup_label" ? [[statSync(data).ino, true]] : []);
});
