import { isDeepStrictEqual } from "node:util";
import { type ComputeUnitRange, maxConnections } from "../../../api/compute-units.ts";
import { settingNumber } from "../../computes/setting-bounds.ts";
import type { HistoryPoint } from "../../domain/history-point.ts";
import { recoverySettings } from "../data/point.ts";
import { socketNumber } from "../host/sockets.ts";
import { superuser } from "../session/privileged-role.ts";

/** Limits that follow from the size and the settings of a compute. A standby must have at least its primary's. */
export interface Limits {
  maxConnections: number;
  maxWorkerProcesses: number;
  /** For each transaction. */
  maxLocks: number;
}

export function limitsOf(
  range: ComputeUnitRange,
  connectionsOf = maxConnections,
  settings: Readonly<Record<string, string>> = {},
): Limits {
  return {
    maxConnections: connectionsOf(range),
    maxWorkerProcesses: 12 + Math.floor(2 * range.max),
    maxLocks: settingNumber(settings, "max_locks_per_transaction"),
  };
}

/** The most that read the log of a server: clients of a compute that replicate, and replicas of a branch. */
export const mostReaders = { clients: 10, replicas: 10 };

/** Workers of autovacuum: functions of clients run in them, in which they may stay for ever. */
const vacuumWorkers = (settings: ServerConfig["settings"]) => settingNumber(settings, "autovacuum_max_workers");

/** Processes of a server and its pooler, without those of its clients. Some read files from Postgres 18 on. */
export function processesOf({ limits, settings, major }: ServerConfig): number {
  return 7 + (major >= 18 ? 3 : 0) + vacuumWorkers(settings) + limits.maxWorkerProcesses;
}

export const smallest: Limits = limitsOf({ min: 0.25, max: 0.25 });

export function largerOf(one: Limits, other: Limits): Limits {
  return {
    maxConnections: Math.max(one.maxConnections, other.maxConnections),
    maxWorkerProcesses: Math.max(one.maxWorkerProcesses, other.maxWorkerProcesses),
    maxLocks: Math.max(one.maxLocks, other.maxLocks),
  };
}

/** True if a server of some limits is too small for others. */
export function isBelow(own: Limits, others: Limits): boolean {
  return !isDeepStrictEqual(largerOf(own, others), largerOf(own, own));
}

/** In MB: the vendor's formula. */
export function sharedBuffersMB(limits: Limits): number {
  const kilobytes = 1023 + (1 + limits.maxConnections + limits.maxWorkerProcesses) * 256;
  return Math.max(128, Math.floor(kilobytes / 1024));
}

export interface ServerConfig {
  /** Of Postgres. */
  major: number;
  limits: Limits;
  /** The socket's directory: nothing listens on a port. */
  sockets: string;
  /** Space for each session's temporary files; `undefined` for any amount. */
  temporaryDiskKiB: number | undefined;
  /** From the compute; of the allowed ones. */
  settings: Readonly<Record<string, string>>;
  /** True if clients may replicate logically. */
  logical: boolean;
  /** The point to which the server recovers first. */
  recovery?: HistoryPoint | undefined;
  /** Of a standby: the directory of its primary's socket. */
  primary: string | undefined;
}

/** The whole of postgresql.conf. What a compute sets stands first: nothing of it can undo the rest. */
export function configText(config: ServerConfig): string {
  const { major, limits, sockets, temporaryDiskKiB, settings, logical, primary, recovery } = config;
  const fixed: Readonly<Record<string, string>> = {
    listen_addresses: "",
    port: String(socketNumber),
    unix_socket_directories: sockets,
    unix_socket_permissions: "0700",
    max_connections: String(limits.maxConnections),
    // Of the three places that Postgres keeps for superusers, the session that looks up passwords holds one.
    superuser_reserved_connections: "2",
    max_worker_processes: String(limits.maxWorkerProcesses),
    max_locks_per_transaction: String(limits.maxLocks),
    shared_buffers: `${sharedBuffersMB(limits)}MB`,
    huge_pages: "off",
    // Files of the branch: sessions at one server could fill the memory that all of the machine share, for all of them.
    dynamic_shared_memory_type: "mmap",
    wal_level: logical ? "logical" : "replica",
    // Clients leave room for replicas: one that finds none shows old data, and lets old passwords in.
    max_wal_senders: String(mostReaders.clients + mostReaders.replicas),
    max_replication_slots: "10",
    // No subscription reads a slot of the data that this is a copy of, nor connects, before it is dropped.
    max_logical_replication_workers: "0",
    wal_keep_size: "32MB",
    // A slot that nobody reads is given up before the log fills the disk.
    max_slot_wal_keep_size: "1GB",
    hot_standby: "on",
    wal_retrieve_retry_interval: "500ms",
    temp_file_limit: temporaryDiskKiB === undefined ? "-1" : `${temporaryDiskKiB}kB`,
    password_encryption: "scram-sha-256",
    ssl: "off",
    // The service itself takes the segments that are marked as ready: no command runs.
    archive_mode: "on",
    archive_command: "",
    shared_preload_libraries: "",
    logging_collector: "off",
    log_destination: "stderr",
    log_line_prefix: "%m [%p] ",
    // No more begin at a reload than the server was counted with.
    ...(major >= 18 && { autovacuum_worker_slots: String(vacuumWorkers(settings)) }),
    ...(recovery && recoverySettings(recovery)),
    ...(primary && { primary_conninfo: conninfo(primary) }),
  };
  const lines = Object.entries({ ...settings, ...fixed }).map(([name, value]) => `${name} = ${quoted(value)}`);
  return `${lines.join("\n")}\n`;
}

function conninfo(sockets: string): string {
  return `host=${sockets} port=${socketNumber} user=${superuser} application_name=standby connect_timeout=5`;
}

/**
 * Access rules, only through the socket: for clients' roles with a password. Our own role has none, whose verifier
 * `pg_read_all_data` would show: the system vouches that the session is of one of these users, who alone reach the
 * socket. Where a user has no name to compare, the socket's directory alone keeps others out.
 */
export function accessTexts(users: readonly string[] | undefined): { access: string; identities: string } {
  const method = users ? "peer map=own" : "trust";
  return {
    access: `local all ${superuser} ${method}\nlocal replication ${superuser} ${method}\nlocal all all scram-sha-256\n`,
    identities: [...new Set(users)].map((user) => `own "${user}" ${superuser}\n`).join(""),
  };
}

/** A value as postgresql.conf takes it. */
function quoted(value: string): string {
  return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "''").replaceAll("\n", "\\n").replaceAll("\r", "\\r")}'`;
}
