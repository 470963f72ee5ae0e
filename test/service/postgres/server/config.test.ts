import { describe, expect, it } from "vitest";
import {
  accessTexts,
  configText,
  isBelow,
  largerOf,
  limitsOf,
  processesOf,
  type ServerConfig,
  sharedBuffersMB,
} from "../../../../src/service/postgres/server/config.ts";

describe("the access rules of a server", () => {
  it("let our own role in where the system vouches for the user, and others with a password", () => {
    expect(accessTexts(["root", "nobody"])).toEqual({
      access:
        "local all cloud_admin peer map=own\nlocal replication cloud_admin peer map=own\nlocal all all scram-sha-256\n",
      identities: 'own "root" cloud_admin\nown "nobody" cloud_admin\n',
    });
    expect(accessTexts(["nobody", "nobody"]).identities).toBe('own "nobody" cloud_admin\n');
  });

  it("leave it to the socket's directory where a user has no name, for our own role alone", () => {
    const { access, identities } = accessTexts(undefined);
    expect(access.split("\n")).toEqual([
      "local all cloud_admin trust",
      "local replication cloud_admin trust",
      "local all all scram-sha-256",
      "",
    ]);
    expect(identities).toBe("");
  });
});

describe("the settings of a compute", () => {
  it("cannot undo what the service sets, nor add a line", () => {
    const settings = { work_mem: "1MB'\nfsync = 'off", search_path: "a\\b" };
    const limits = limitsOf({ min: 1, max: 1 });
    const text = configText({
      major: 17,
      limits,
      sockets: "/s",
      temporaryDiskKiB: 64,
      settings,
      logical: false,
      primary: undefined,
    });
    expect(text.split("\n").slice(0, 2)).toEqual(["work_mem = '1MB''\\nfsync = ''off'", "search_path = 'a\\\\b'"]);
    expect(text).toContain("listen_addresses = ''\n");
    expect(text).toContain("temp_file_limit = '64kB'\n");
  });

  it("follow the size: connections and shared buffers", () => {
    expect(limitsOf({ min: 0.25, max: 2 }, ({ max }) => 10 * max).maxConnections).toBe(20);
    expect(limitsOf({ min: 0.25, max: 2 })).toEqual({ maxConnections: 901, maxWorkerProcesses: 16, maxLocks: 64 });
    const locks = (value: string) =>
      limitsOf({ min: 1, max: 1 }, undefined, { Max_Locks_Per_Transaction: value }).maxLocks;
    expect([locks("256"), locks("0x40"), locks("much")]).toEqual([256, 64, 64]);
    expect(sharedBuffersMB(limitsOf({ min: 0.25, max: 0.25 }))).toBe(128);
    expect(sharedBuffersMB(limitsOf({ min: 8, max: 8 }))).toBe(909);
  });
});

describe("the settings of a server", () => {
  const config: ServerConfig = {
    major: 17,
    limits: { maxConnections: 450, maxWorkerProcesses: 14, maxLocks: 64 },
    sockets: "/s",
    temporaryDiskKiB: undefined,
    settings: {},
    logical: false,
    primary: undefined,
  };
  const linesOf = (more: Partial<ServerConfig>) => configText({ ...config, ...more }).split("\n");

  it("what the processes of a server share lies in files of its own, not in memory that all servers have together", () => {
    const lines = linesOf({ settings: { dynamic_shared_memory_type: "posix" } });
    expect(lines.filter((line) => line.startsWith("dynamic_shared_memory_type")).at(-1)).toBe(
      "dynamic_shared_memory_type = 'mmap'",
    );
  });

  it("workers of autovacuum, in which functions of clients may stay, count among a server's processes, and no more begin", () => {
    const settings = { Autovacuum_Max_Workers: "64" };
    expect([processesOf(config), processesOf({ ...config, settings })]).toEqual([24, 85]);
    expect(processesOf({ ...config, major: 18, settings })).toBe(88);
    expect(linesOf({ major: 18, settings })).toContain("autovacuum_worker_slots = '64'");
  });

  it("a server has these settings, and no other that the compute has not set", () => {
    expect(configText(config)).toBe(`listen_addresses = ''
port = '5432'
unix_socket_directories = '/s'
unix_socket_permissions = '0700'
max_connections = '450'
superuser_reserved_connections = '2'
max_worker_processes = '14'
max_locks_per_transaction = '64'
shared_buffers = '128MB'
huge_pages = 'off'
dynamic_shared_memory_type = 'mmap'
wal_level = 'replica'
max_wal_senders = '20'
max_replication_slots = '10'
max_logical_replication_workers = '0'
wal_keep_size = '32MB'
max_slot_wal_keep_size = '1GB'
hot_standby = 'on'
wal_retrieve_retry_interval = '500ms'
temp_file_limit = '-1'
password_encryption = 'scram-sha-256'
ssl = 'off'
archive_mode = 'on'
archive_command = ''
shared_preload_libraries = ''
logging_collector = 'off'
log_destination = 'stderr'
log_line_prefix = '%m [%p] '
`);
  });

  it("a server replicates logically, follows a primary or recovers to a point where it is told to", () => {
    expect(linesOf({ logical: true })).toContain("wal_level = 'logical'");
    const primary = "host=/p port=5432 user=cloud_admin application_name=standby connect_timeout=5";
    expect(linesOf({ primary: "/p" })).toContain(`primary_conninfo = '${primary}'`);
    const time = linesOf({ recovery: { kind: "time", at: Date.UTC(2026, 0, 2, 3, 4, 5, 6) } });
    expect(time).toContain("recovery_target_time = '2026-01-02 03:04:05.006+00'");
    const lsn = linesOf({ recovery: { kind: "lsn", lsn: "0/5" } });
    expect(lsn).toEqual(
      expect.arrayContaining([
        "recovery_target_lsn = '0/5'",
        "recovery_target_action = 'promote'",
        "hot_standby = 'off'",
      ]),
    );
  });

  it("the larger of two sets of limits has the larger of each, and neither of them is below the smaller", () => {
    const [one, other] = [
      { maxConnections: 1, maxWorkerProcesses: 5, maxLocks: 3 },
      { maxConnections: 4, maxWorkerProcesses: 2, maxLocks: 6 },
    ];
    const larger = { maxConnections: 4, maxWorkerProcesses: 5, maxLocks: 6 };
    expect([largerOf(one, other), largerOf(other, one), largerOf(one, one)]).toEqual([larger, larger, one]);
    expect([isBelow(one, other), isBelow(other, one), isBelow(one, larger)]).toEqual([true, true, true]);
    expect([isBelow(larger, one), isBelow(larger, other), isBelow(one, one)]).toEqual([false, false, false]);
  });
});
