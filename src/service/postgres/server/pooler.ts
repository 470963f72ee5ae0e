import { constants } from "node:fs";
import { access, rm, stat } from "node:fs/promises";
import { createConnection } from "node:net";
import { delimiter, resolve } from "node:path";
import { ServerFailed } from "../host/failure.ts";
import { GuardedProgram, type ProgramPorts } from "../host/guarded-program.ts";
import { makeDirectory, writePrivate } from "../host/private-file.ts";
import { type GuardedServer, type Processes, serverEnvironment } from "../host/processes.ts";
import { socketIn, socketNumber } from "../host/sockets.ts";
import { superuser } from "../session/privileged-role.ts";
import type { ServerConfig } from "./config.ts";

/** PgBouncer as it is found. */
export interface PoolerProgram {
  path: string;
  /**
   * True if clients may use prepared statements of the protocol, although each transaction has another server. Such a
   * PgBouncer looks for passwords in one database, and need not in that of the client.
   */
  preparesStatements: boolean;
}

export interface PoolerSettings {
  program: PoolerProgram;
  /** Prefix of the paths of its files. */
  files: string;
  logFile: string;
  server: Pick<ServerConfig, "sockets">;
  /** The directory of the pooler's own socket. */
  sockets: string;
  /** Number of connections that the server takes. */
  maxConnections: number;
  /** Number of clients that may connect. */
  maxClients: number;
}

/** After how long a start counts as failed, in milliseconds. */
const startLimitMs = 10_000;

/** A PgBouncer in transaction mode before one server. */
export class Pooler extends GuardedProgram {
  readonly socket: string;

  private constructor(guarded: GuardedServer, socket: string) {
    super(guarded);
    this.socket = socket;
  }

  /** Resolves when it takes connections. Rejects with `ServerFailed`. */
  static async start(ports: ProgramPorts, settings: PoolerSettings): Promise<Pooler> {
    const { processes, clock, user } = ports;
    const { sockets, logFile } = settings;
    const socket = socketIn(sockets);
    const ini = `${settings.files}.ini`;
    await writePrivate(ini, poolerText(settings), user);
    await writePrivate(`${settings.files}.users`, `"${superuser}" ""\n`, user);
    await makeDirectory(sockets, user);
    await rm(socket, { force: true });
    const guarded = processes.guard(settings.program.path, [ini], { logFile, user });
    const pooler = new Pooler(guarded, socket);
    if ((await pooler.whenReady(() => accepts(socket), clock, startLimitMs)) === "ready") return pooler;
    await pooler.stop();
    throw new ServerFailed(`the connection pooler did not start: ${logFile} says why`);
  }
}

/**
 * The whole of pgbouncer.ini. Clients log in with SCRAM and the server's own verifiers, with which PgBouncer then logs
 * in for them. The query that looks these up runs as superuser, before 1.21 in databases of clients: it names every
 * object in full.
 */
export function poolerText(pooler: Omit<PoolerSettings, "logFile">): string {
  const { program, files, sockets, server, maxConnections, maxClients } = pooler;
  const settings: Readonly<Record<string, string | number>> = {
    listen_port: socketNumber,
    unix_socket_dir: sockets,
    unix_socket_mode: "0700",
    auth_type: "scram-sha-256",
    auth_file: `${files}.users`,
    auth_user: superuser,
    auth_query: "SELECT usename, passwd FROM pg_catalog.pg_shadow WHERE usename OPERATOR(pg_catalog.=) $1",
    pool_mode: "transaction",
    default_pool_size: Math.max(1, Math.floor(0.9 * maxConnections)),
    max_client_conn: maxClients,
    listen_backlog: 4096,
    query_wait_timeout: 120,
    ignore_startup_parameters: "extra_float_digits",
    // In a database of a client's our own session would keep that from being dropped, and would wait for its locks. One
    // that is not there is then found as the client's session opens, where PgBouncer waits for 15 s by default.
    ...(program.preparesStatements && {
      auth_dbname: "postgres",
      server_login_retry: 1,
      max_prepared_statements: 1000,
    }),
    log_connections: 0,
    log_disconnections: 0,
    log_stats: 0,
    admin_users: "",
    stats_users: "",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  // Before 1.21 our own session goes from database to database: one in each would take the places that are kept for us.
  const users = `[users]\n${superuser} = max_user_connections=1\n`;
  return `[databases]\n* = host=${server.sockets} port=${socketNumber}\n${users}[pgbouncer]\n${lines.join("\n")}\n`;
}

/** PgBouncer in the directories of `PATH`; `undefined` where none has it. */
export async function findPooler(path: string, processes: Processes): Promise<PoolerProgram | undefined> {
  for (const directory of path.split(delimiter).filter((one) => one !== "")) {
    const file = resolve(directory, "pgbouncer");
    if (!(await isProgram(file))) continue;
    const { output } = await processes.run(file, ["--version"], { cwd: "/", env: serverEnvironment });
    const [, major = 0, minor = 0] = (/PgBouncer (\d+)\.(\d+)/.exec(output) ?? []).map(Number);
    return { path: file, preparesStatements: major > 1 || (major === 1 && minor >= 21) };
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}

/** True if somebody listens: a socket is there a moment before that. */
function accepts(path: string): Promise<boolean> {
  return new Promise((answer) => {
    const socket = createConnection(path, () => {
      socket.destroy();
      answer(true);
    });
    socket.once("error", () => answer(false));
  });
}
