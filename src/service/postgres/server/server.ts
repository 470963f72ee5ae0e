import { open, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { beginRecoveryAgain, controlIn } from "../data/backup.ts";
import { mayHavePrepared, mostPrepared } from "../data/prepared-files.ts";
import { ServerFailed } from "../host/failure.ts";
import { GuardedProgram, type ProgramPorts } from "../host/guarded-program.ts";
import { makeDirectory, writePrivate } from "../host/private-file.ts";
import { accessTexts, configText, type ServerConfig } from "./config.ts";
import { lengthOfLog } from "./server-logs.ts";

export interface ServerPlace {
  /** The program. */
  postgres: string;
  /** The data directory. */
  data: string;
  logFile: string;
}

/** After how long without progress a start counts as failed, in milliseconds. */
const startLimitMs = 120_000;

/** One running Postgres server. */
export class PostgresServer extends GuardedProgram {
  /** Starts a server, and resolves when it takes connections. Rejects with `ServerFailed`, and nothing runs then. */
  static async start(
    ports: ProgramPorts & { ends?: AbortSignal },
    place: ServerPlace,
    config: ServerConfig,
  ): Promise<PostgresServer> {
    const { processes, clock, user, ends } = ports;
    await makeDirectory(config.sockets, user);
    await writeConfig(place.data, await withPlaces(place.data, config), ports);
    await beginRecoveryAgain(place.data);
    const logFrom = await lengthOfLog(place.logFile);
    const guarded = processes.guard(place.postgres, ["-D", place.data], { logFile: place.logFile, user });
    const server = new PostgresServer(guarded);
    const isReady = async () => (await stateOf(place.data)) === "ready";
    const stop = () => void server.stop();
    ends?.addEventListener("abort", stop);
    if (ends?.aborted) stop();
    const progress = config.primary ? undefined : () => progressOf(place);
    const starting = server.whenReady(isReady, clock, startLimitMs, progress);
    const ready = await starting.finally(() => ends?.removeEventListener("abort", stop));
    if (ready === "ready") return server;
    await server.stop();
    const why =
      ready === "slow" ? "it takes no connections, and got no further for two minutes" : "it ended while it started";
    throw new ServerFailed(`the server did not start: ${(await complaint(place.logFile, logFrom)) ?? why}`);
  }
}

/**
 * Makes room for the prepared transactions in the data, which outlive their clients and the setting with which they
 * were made: no server with fewer places starts. A standby needs as many places as its primary, and a server that
 * recovers as many as the one whose log it reads.
 */
async function withPlaces(data: string, config: ServerConfig): Promise<ServerConfig> {
  if (!config.primary && !config.recovery && !(await mayHavePrepared(data))) return config;
  return { ...config, settings: { ...config.settings, max_prepared_transactions: String(mostPrepared) } };
}

/** Writes the settings for the next start, or for a reload. */
export async function writeConfig(
  data: string,
  config: ServerConfig,
  { processes: { self }, user }: Pick<ProgramPorts, "processes" | "user">,
): Promise<void> {
  const [own, servers] = [self.user, user ? user.name : self.user];
  const { access, identities } = accessTexts(own === undefined || servers === undefined ? undefined : [own, servers]);
  await writePrivate(join(data, "postgresql.conf"), configText(config), user);
  await writePrivate(join(data, "pg_hba.conf"), access, user);
  await writePrivate(join(data, "pg_ident.conf"), identities, user);
}

/** The state that a server notes in its directory: `starting`, `ready`, `standby` (no connections yet), `stopping`. */
async function stateOf(data: string): Promise<string | undefined> {
  const text = await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "");
  return text.split("\n")[7]?.trim();
}

/**
 * Changes while a server that recovers gets further, which may take hours: after a crash it says so in its log, and
 * otherwise notes it in the control file. Not of a standby: a client's transaction at its primary may keep it from
 * taking connections, however far it gets, and all that is to be done on the branch would wait for that.
 */
async function progressOf({ data, logFile }: ServerPlace): Promise<string> {
  const changes = [controlIn(data), logFile].map((file) =>
    stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    ),
  );
  return (await Promise.all(changes)).join(" ");
}

const marked = /^.*?(?:FATAL|PANIC|ERROR|postgres): +/;

/** The last that a server says of why it ended, in one line. */
async function complaint(file: string, from: number): Promise<string | undefined> {
  const log = await open(file, "r").catch(() => undefined);
  if (!log) return undefined;
  try {
    const length = Math.max(0, (await log.stat()).size - from);
    const { buffer, bytesRead } = await log.read(Buffer.alloc(Math.min(length, 64_000)), 0, null, from);
    const lines = buffer.subarray(0, bytesRead).toString("utf8").trim().split("\n");
    const last = lines.findLastIndex((line) => marked.test(line));
    if (last < 0) return undefined;
    const more = lines.slice(last + 1).filter((line) => !/^\d{4}-\d\d-\d\d /.test(line));
    return [lines[last]?.replace(marked, "") ?? "", ...more]
      .map((line) => line.trim())
      .join(" ")
      .slice(0, 500);
  } finally {
    await log.close();
  }
}
