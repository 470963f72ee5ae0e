import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, rename, rm, stat } from "node:fs/promises";
import { createConnection } from "node:net";
import { delimiter, resolve } from "node:path";
import { limited } from "../../clock.ts";
import { isFullDisk, ServerFailed } from "../host/failure.ts";
import { GuardedProgram, type ProgramPorts } from "../host/guarded-program.ts";
import { makeDirectory, writePrivate } from "../host/private-file.ts";
import { type GuardedServer, type Processes, serverEnvironment } from "../host/processes.ts";
import { socketIn, socketNumber } from "../host/sockets.ts";
import { superuser } from "../session/privileged-role.ts";
import { type RoleVerifier, verifierText } from "../session/scram.ts";
import { SqlClient } from "../session/sql-client.ts";
import type { ServerConfig } from "./config.ts";

/** PgBouncer as it is found. */
export interface PoolerProgram {
  path: string;
  /** True if clients may use prepared statements of the protocol, although each transaction has another server. */
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

/** After how long a start, or an order without an answer, counts as failed, in milliseconds. */
const limitMs = 10_000;

/** The most roles that it knows, as SQL makes them without end: the one that has not come for longest is told again. */
const mostRoles = 250;

/** The database and the user of PgBouncer's console. */
export const poolerConsole = "pgbouncer";

/**
 * A PgBouncer in transaction mode before one server. The service tells it the verifiers of roles: to ask for them, it
 * would have a session of its own, as superuser, in databases of clients and with the parameters of clients.
 */
export class Pooler extends GuardedProgram {
  readonly socket: string;
  readonly #ports: ProgramPorts;
  readonly #file: string;
  readonly #password: string;
  /** By name: the users that it knows, as its file has them, and their numbers in the server. */
  readonly #users = new Map<string, { line: string; oid: string | undefined }>();

  private constructor(guarded: GuardedServer, ports: ProgramPorts, files: Files) {
    super(guarded);
    this.#ports = ports;
    this.socket = files.socket;
    this.#file = files.users;
    this.#password = files.password;
  }

  /** Resolves when it takes connections. Rejects with `ServerFailed`. */
  static async start(ports: ProgramPorts, settings: PoolerSettings): Promise<Pooler> {
    const { processes, clock, user } = ports;
    const { sockets, logFile } = settings;
    const [ini, users] = [`${settings.files}.ini`, `${settings.files}.users`];
    const files = { socket: socketIn(sockets), users, password: randomBytes(24).toString("hex") };
    await writePrivate(ini, poolerText(settings), user);
    await writePrivate(users, userLine(superuser, files.password), user);
    await makeDirectory(sockets, user);
    await rm(files.socket, { force: true });
    const guarded = processes.guard(settings.program.path, [ini], { logFile, user });
    const pooler = new Pooler(guarded, ports, files);
    if ((await pooler.whenReady(() => accepts(files.socket), clock, limitMs)) === "ready") return pooler;
    await pooler.stop();
    throw new ServerFailed(`the connection pooler did not start: ${logFile} says why`);
  }

  /**
   * Has it know the verifier of a role that has logged in, by a name that a server does not cut. It keeps sessions by
   * name: where another role had that, `endFormer` ends these. To be called by one at a time. Rejects with
   * `ServerFailed`.
   */
  async learn(
    role: string,
    { oid, ...verifier }: RoleVerifier,
    endFormer: (oid: string) => Promise<void>,
  ): Promise<void> {
    const line = userLine(role, verifierText(verifier));
    const known = this.#users.get(role);
    this.#users.delete(role);
    if (known) this.#users.set(role, known);
    if (known?.line === line && known.oid === oid) return;
    if (known?.oid !== undefined && known.oid !== oid) await endFormer(known.oid);
    // Of one name the last line counts.
    const lines = [userLine(superuser, this.#password), ...[...this.#users.values()].map((user) => user.line), line];
    try {
      // PgBouncer reads no file of the same number, size and second again.
      const written = `${this.#file}_new`;
      await writePrivate(written, lines.join(""), this.#ports.user);
      await rename(written, this.#file);
    } catch (error) {
      throw isFullDisk(error) ? new ServerFailed("the connection pooler cannot learn a role: the disk is full") : error;
    }
    await this.#reload();
    this.#users.set(role, { line, oid });
    const [oldest = ""] = this.#users.keys();
    if (this.#users.size > mostRoles) this.#users.delete(oldest);
  }

  async #reload(): Promise<void> {
    const late = new AbortController();
    const login = { socket: this.socket, user: superuser, password: this.#password, database: poolerConsole };
    const reload = async () => {
      using console = await SqlClient.connect({ ...login, late: late.signal });
      await console.query("RELOAD");
    };
    try {
      await limited(this.#ports.clock, limitMs, () => late.abort(), reload());
    } catch (error) {
      throw late.signal.aborted ? new ServerFailed("the connection pooler does not answer: try later") : error;
    }
  }
}

interface Files {
  socket: string;
  users: string;
  /** Of our own user of the console. */
  password: string;
}

/** A user, with a password or a verifier, as a line of the file of users. */
function userLine(name: string, secret: string): string {
  return `"${name.replaceAll('"', '""')}" "${secret}"\n`;
}

/**
 * The whole of pgbouncer.ini. Clients log in with SCRAM and the server's own verifiers, with which PgBouncer then logs
 * in for them.
 */
export function poolerText(pooler: Omit<PoolerSettings, "logFile">): string {
  const { program, files, sockets, server, maxConnections, maxClients } = pooler;
  const poolSize = Math.max(1, Math.floor(0.9 * maxConnections));
  const settings: Readonly<Record<string, string | number>> = {
    listen_port: socketNumber,
    unix_socket_dir: sockets,
    unix_socket_mode: "0700",
    auth_type: "scram-sha-256",
    auth_file: `${files}.users`,
    // Connections that might have TLS, which a socket has not, are ended by each RELOAD of PgBouncer 1.22.
    server_tls_sslmode: "disable",
    pool_mode: "transaction",
    default_pool_size: poolSize,
    // An idle session makes room for one of another role or database: all of a server's would be those of a few.
    max_db_connections: poolSize,
    max_user_connections: poolSize,
    // Over all pools there is no limit: those that rest keep others out, of more pairs of both than connections.
    server_idle_timeout: 5,
    max_client_conn: maxClients,
    listen_backlog: 4096,
    query_wait_timeout: 120,
    // A client whose role has had another password since fails to get a session, and new ones are refused so long.
    server_login_retry: 3,
    ignore_startup_parameters: "extra_float_digits",
    ...(program.preparesStatements && { max_prepared_statements: 1000 }),
    log_connections: 0,
    log_disconnections: 0,
    log_stats: 0,
    // Our own: no client can have the name.
    admin_users: superuser,
    stats_users: "",
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return `[databases]\n* = host=${server.sockets} port=${socketNumber}\n[pgbouncer]\n${lines.join("\n")}\n`;
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
