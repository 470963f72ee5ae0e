import { existsSync } from "node:fs";
import { open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { copyTree, renameDurably, sync } from "../host/copy-tree.ts";
import { removeTree } from "../host/each-file.ts";
import { ServerFailed } from "../host/failure.ts";
import { writePrivate } from "../host/private-file.ts";
import type { ProcessUser } from "../host/processes.ts";
import type { SqlClient } from "../session/sql-client.ts";
import { isSegment, isTimelineHistory, placeAt, placeOf } from "./segments.ts";

/** Files of a running server that are no data, or are written again for the copy. */
const volatile =
  /^(postmaster\.(pid|opts)|postgresql\.(auto\.)?conf|pg_hba\.conf|(standby|recovery)\.signal|backup_label|backup_manifest)$|(^|\/)pgsql_tmp|(^|\/)pg_internal\.init/;

/**
 * Directories whose content a copy of a running server does without: Postgres makes it again. Marks of segments that
 * are not copied would have the copy's history wait for them.
 */
const emptied = /^pg_((wal|replslot|notify|serial|snapshots|stat_tmp|subtrans|dynshmem)|wal\/archive_status)\/[^/]+$/;

type Owner = ProcessUser | undefined;

/** Copies the data of a server that does not run. A replication slot belongs to the original alone. */
export async function copyStopped(from: string, to: string, owner: Owner): Promise<void> {
  await copyTree(from, to, { owner, skip: (path) => volatile.test(path) || path.startsWith("pg_replslot/") });
}

/** The log that a copy of a running server recovers with: its first and last segment, and where it is consistent. */
export interface CopiedLog {
  first: string;
  last: string;
  consistentAt: string;
}

/**
 * Copies the data of a server that runs, as it is when the copy ends. `client` must be the superuser's. `ends` aborts
 * with the server, and the copy with it.
 */
export async function copyRunning(
  from: string,
  to: string,
  client: Pick<SqlClient, "query">,
  { owner, ends }: { owner: Owner; ends?: AbortSignal },
): Promise<CopiedLog> {
  // Without a slot to be had, the log that is kept anyway must do.
  await client.query(keepLog).catch(() => {});
  const [start] = await client.query("SELECT pg_walfile_name(pg_backup_start('copy', true))");
  await copyTree(from, to, { owner, ends, skip: (path) => volatile.test(path) || isEmptied(path) });
  const [stop] = await client.query(
    "SELECT labelfile, pg_walfile_name(lsn), lsn FROM pg_backup_stop(wait_for_archive => false)",
  );
  const [first, label, last] = [start?.[0] ?? "", stop?.[0] ?? "", stop?.[1] ?? ""];
  const segments = await readdir(join(from, "pg_wal"));
  if (!segments.includes(first)) {
    throw new ServerFailed("the branch was written to faster than it could be copied: try again");
  }
  // The copy's own replicas ask it for the histories of its timelines.
  const needed = (name: string) => isTimelineHistory(name) || (isSegment(name) && name >= first && name <= last);
  await copyTree(join(from, "pg_wal"), join(to, "pg_wal"), { owner, skip: (path) => !needed(path) });
  await writePrivate(join(to, "backup_label"), label, owner);
  await sync(join(to, "backup_label"));
  await sync(to);
  return { first, last, consistentAt: stop?.[2] ?? "" };
}

/** Has the server keep its write-ahead log from now on, until the session ends. */
const keepLog = `SELECT pg_create_physical_replication_slot('copy_' || pg_backend_pid(), true, true)`;

function isEmptied(path: string): boolean {
  return emptied.test(path) && !/^pg_wal\/(archive_status|summaries)$/.test(path);
}

/** Postgres's notes in its control file: shut down with all data on the disk, or while it recovered, or recovering. */
const shutDown = 1;
const recoveryLeft: readonly number[] = [2, 5];

/** True if a primary's directory is that of a server that was shut down in order. */
export async function isCleanlyStopped(data: string): Promise<boolean> {
  return (await stateOf(data)) === shutDown;
}

/**
 * Has a copy of a running server begin its recovery again where that was broken off. Postgres puts the label of the
 * copy away first, and without it does not see later where the copy is whole: it would never start.
 */
export async function beginRecoveryAgain(data: string): Promise<void> {
  const names = await readdir(data);
  const has = (name: string) => names.includes(name);
  if (!has("backup_label.old") || has("backup_label") || has("standby.signal")) return;
  if (!recoveryLeft.includes(await stateOf(data))) return;
  await renameDurably(join(data, "backup_label.old"), join(data, "backup_label"));
}

async function stateOf(data: string): Promise<number> {
  return (await controlFile(data)).readUInt32LE(16);
}

/** Place in the log of the last checkpoint that a directory knows of. */
export async function checkpointOf(data: string): Promise<bigint> {
  return (await controlFile(data)).readBigUInt64LE(32);
}

/** The limits of the last primary that a directory knows of. */
export async function lastLimits(data: string) {
  const control = await controlFile(data);
  const at = (offset: number) => control.readInt32LE(offset);
  return { maxConnections: at(180), maxWorkerProcesses: at(184), maxLocks: at(196) };
}

/** The beginning of Postgres's control file, with zeros for what a damaged one lacks. */
async function controlFile(data: string): Promise<Buffer> {
  return Buffer.concat([await readFile(controlIn(data)), Buffer.alloc(200)]);
}

export function controlIn(data: string): string {
  return join(data, "global", "pg_control");
}

/**
 * The oldest segment of a directory's write-ahead log, and the newest that is written: servers give segments of the
 * past the names of those to come. Each begins with its own place, from its ninth byte on.
 */
export async function segmentsOf(data: string): Promise<{ oldest: string; newest: string }> {
  const found = (await readdir(join(data, "pg_wal"))).filter(isSegment).toSorted();
  const isWritten = async (name: string) => {
    await using file = await open(join(data, "pg_wal", name));
    const { buffer } = await file.read(Buffer.alloc(16), 0, 16, 0);
    return placeAt(buffer.readBigUInt64LE(8)) === placeOf(name);
  };
  const [oldest = ""] = found;
  for (const name of found.toReversed()) if (await isWritten(name)) return { oldest, newest: name };
  return { oldest, newest: "" };
}

const origin = "compute-operator-origin";

/** Removes a standby's data: where that is broken off, nothing takes what is left for a standby. As `removeTree`. */
export async function removeStandby(data: string, ends = () => false): Promise<void> {
  await rm(join(data, origin), { force: true });
  await removeTree(data, ends);
}

/** The branch's data that a standby was made of. */
export async function originOf(data: string): Promise<string | undefined> {
  return (await readFile(join(data, origin), "utf8").catch(() => undefined))?.trim();
}

/** Makes a copy a standby. */
export async function makeStandby(data: string, generation: string, owner: Owner): Promise<void> {
  for (const [name, text] of [
    ["standby.signal", ""],
    [origin, `${generation}\n`],
  ] as const) {
    const file = join(data, name);
    await writePrivate(file, text, owner);
    await sync(file);
  }
}

/**
 * True if a standby can go on from its own data: a copy of the branch's, and the primary still has the log that the
 * standby lacks.
 */
export async function canFollow(
  data: string,
  branch: { generation: string; directory: string },
  primaryRuns: boolean,
): Promise<boolean> {
  if ((await originOf(data)) !== branch.generation || !existsSync(controlIn(data))) return false;
  if (!primaryRuns) return (await checkpointOf(data)) === (await checkpointOf(branch.directory));
  const [own, primary] = await Promise.all([segmentsOf(data), segmentsOf(branch.directory)]);
  return own.newest >= primary.oldest;
}
