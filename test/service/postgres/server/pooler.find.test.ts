import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemProcesses } from "../../../../src/service/postgres/host/system-processes.ts";
import { findPooler, poolerText } from "../../../../src/service/postgres/server/pooler.ts";
import { temporaryDirectory } from "../../../support/guardian.ts";

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

const processes = systemProcesses({ pid: process.pid, uid: process.getuid?.() ?? 0, node: process.execPath });
const find = async (path: string) => (await findPooler(path, processes))?.path;

test("PgBouncer is the first program of its name in the directories of PATH", async () => {
  const root = directories();
  const among = (...names: string[]) => find(names.map((name) => join(root, name)).join(delimiter));
  expect(await among("missing", "empty", "directory", "text", "first", "second")).toBe(join(root, "first/pgbouncer"));
  expect(await among("directory", "text", "empty")).toBeUndefined();
  expect(await find("")).toBeUndefined();
});

test("its path is absolute, as it is started elsewhere", async () => {
  const root = directories();
  expect(await find(relative(process.cwd(), join(root, "first")))).toBe(join(root, "first/pgbouncer"));
});

const place = {
  files: "/f",
  sockets: "/s",
  server: { sockets: "/one" },
  maxConnections: 100,
  maxClients: 10_000,
};

test.each([
  [112, 100],
  [1, 1],
])(
  "a pooler takes, of %i connections of its server, %i: the rest is for clients that reach it directly",
  (most, taken) => {
    const program = { path: "pgbouncer", preparesStatements: true };
    expect(poolerText({ ...place, program, maxConnections: most })).toContain(`\ndefault_pool_size = ${taken}\n`);
  },
);

test.each([
  ["1.18.0", false],
  ["1.20.9", false],
  ["1.21.0", true],
  ["1.24.1", true],
  ["2.0.0", true],
])("PgBouncer %s keeps prepared statements: %s", async (version, keeps) => {
  const root = directories();
  writeFileSync(join(root, "first/pgbouncer"), `#!/bin/sh\necho 'PgBouncer ${version}'\n`);
  const program = await findPooler(join(root, "first"), processes);
  expect(program?.preparesStatements).toBe(keeps);
  if (!program) return;
  // An older one does not start with a setting that it does not know.
  expect(poolerText({ ...place, program }).includes("max_prepared_statements")).toBe(keeps);
});

test("a pooler has these settings, whatever its defaults are", () => {
  const program = { path: "pgbouncer", preparesStatements: true };
  expect(poolerText({ ...place, program })).toBe(`[databases]
* = host=/one port=5432
[pgbouncer]
listen_port = 5432
unix_socket_dir = /s
unix_socket_mode = 0700
auth_type = scram-sha-256
auth_file = /f.users
server_tls_sslmode = disable
pool_mode = transaction
default_pool_size = 90
max_db_connections = 90
max_user_connections = 90
server_idle_timeout = 5
max_client_conn = 10000
listen_backlog = 4096
query_wait_timeout = 120
server_login_retry = 3
ignore_startup_parameters = extra_float_digits
max_prepared_statements = 1000
log_connections = 0
log_disconnections = 0
log_stats = 0
admin_users = cloud_admin
stats_users = 
`);
});
