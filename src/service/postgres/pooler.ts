import { chown, rm, stat, writeFile } from "node:fs/promises";
import type { ServiceClock } from "../clock.ts";
import { superuser } from "./config.ts";
import { ServerFailed } from "./failure.ts";
import type { GuardedServer, Processes, ProcessUser } from "./processes.ts";

export interface PoolerPorts {
  processes: Processes;
  clock: ServiceClock;
  user: ProcessUser | undefined;
}

export interface PoolerSettings {
  /** The program. */
  pgbouncer: string;
  /** Where its files lie: the path of each begins with this. */
  files: string;
  logFile: string;
  /** The directory of all sockets. */
  sockets: string;
  /** Names the server's socket. */
  serverPort: number;
  /** The path of the pooler's own socket, and the number that names it. */
  socket: string;
  port: number;
  /** Of our own role, which looks up the passwords of others. */
  password: string;
  /** What the server takes. */
  maxConnections: number;
  /** How many clients may connect. */
  maxClients: number;
}

/** How often a starting pooler is asked whether its socket is there, and for how long, in milliseconds. */
const pollMs = 10;
const startLimitMs = 10_000;

/** A PgBouncer in transaction mode before one server. */
export class Pooler {
  readonly socket: string;
  readonly ended: Promise<void>;
  readonly #guarded: GuardedServer;
  #running = true;

  private constructor(guarded: GuardedServer, socket: string) {
    this.#guarded = guarded;
    this.socket = socket;
    this.ended = this.#untilEnd();
  }

  /** Resolves when it takes connections. Rejects with `ServerFailed`. */
  static async start(ports: PoolerPorts, settings: PoolerSettings): Promise<Pooler> {
    const { processes, clock, user } = ports;
    const { socket, logFile } = settings;
    const ini = `${settings.files}.ini`;
    await write(ini, poolerText(settings), user);
    await write(`${settings.files}.users`, `"${superuser}" "${settings.password}"\n`, user);
    await rm(socket, { force: true });
    const guarded = processes.guard(settings.pgbouncer, [ini], {
      logFile,
      user,
      env: { LC_ALL: "C", PATH: "/usr/bin:/bin" },
    });
    const pooler = new Pooler(guarded, socket);
    const until = clock.now() + startLimitMs;
    while (pooler.#running && clock.now() < until) {
      if (await exists(pooler.socket)) return pooler;
      await Promise.race([pooler.ended, new Promise<void>((resolve) => clock.after(pollMs, resolve))]);
    }
    await pooler.stop();
    throw new ServerFailed(`the connection pooler did not start: ${logFile} says why`);
  }

  get running(): boolean {
    return this.#running;
  }

  /** Ends its connections, and resolves when it is gone. */
  async stop(): Promise<void> {
    this.#guarded.stop();
    await this.ended;
  }

  async #untilEnd(): Promise<void> {
    await this.#guarded.ended;
    this.#running = false;
  }
}

/**
 * The whole of pgbouncer.ini. Clients log in with SCRAM and the server's own verifiers, with which PgBouncer then logs
 * in for them. The query that looks these up runs as superuser in databases of clients: it names every object in full.
 */
export function poolerText({ files, sockets, serverPort, port, maxConnections, maxClients }: PoolerSettings): string {
  const settings: Readonly<Record<string, string | number>> = {
    listen_port: port,
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
    log_connections: 0,
    log_disconnections: 0,
    log_stats: 0,
    admin_users: "",
    stats_users: "",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return `[databases]\n* = host=${sockets} port=${serverPort}\n[pgbouncer]\n${lines.join("\n")}\n`;
}

/** The path of PgBouncer; `undefined` where none is on the path. */
export async function findPooler(
  processes: Processes,
  env: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const { status, output } = await processes.run("/bin/sh", ["-c", "command -v pgbouncer"], { env });
  return status === 0 ? output.trim() : undefined;
}

async function write(file: string, text: string, user: ProcessUser | undefined): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  if (user) await chown(file, user.uid, user.gid);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
