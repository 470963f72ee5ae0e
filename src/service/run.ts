import { renameSync, rmSync, writeFileSync } from "node:fs";
import { changeInParts } from "./change-in-parts.ts";
import { AdvanceableClock, type Random, type ServiceClock } from "./clock.ts";
import { setBack } from "./computes/set-back.ts";
import type { ServiceContext } from "./context.ts";
import { bracketed, defaultPort } from "./domain/connection-view.ts";
import { ErrorLog } from "./error-log.ts";
import { messageOf } from "./error-message.ts";
import type { RunOptions } from "./flags.ts";
import { type Listening, listen } from "./http/server.ts";
import type { Ids } from "./ids.ts";
import { keepClear, keepTime } from "./keep.ts";
import { logText } from "./log-text.ts";
import { PostgresUnusable, ServerFailed } from "./postgres/host/failure.ts";
import type { Processes, ProcessUser } from "./postgres/host/processes.ts";
import { Postgres } from "./postgres/postgres.ts";
import { authorityPath, certificateBy, servedNames } from "./postgres/proxy/certificates.ts";
import { serverUser } from "./postgres/server/templates.ts";
import { refusals } from "./refusal.ts";
import { rules } from "./rules.ts";
import { clearedFor } from "./seed/cleared.ts";
import type { Seed } from "./seed/document.ts";
import { readSeed } from "./seed/file.ts";
import { firstSeed } from "./seed/first.ts";
import { applySeed, BadSeed } from "./seed/seed.ts";
import { apiRoot, createService, type Service } from "./service.ts";
import { StoreUnusable } from "./store/database.ts";
import { Store } from "./store/store.ts";

/** The parts of the process that a running service uses. */
export interface RunPorts {
  clock: ServiceClock;
  random: Random;
  ids: Ids;
  /** Writes one line. */
  stdout(line: string): void;
  stderr(line: string): void;
  /** Aborted when the process should end. */
  signal: AbortSignal;
  /** The environment, for the programs that are run. */
  env: Readonly<Record<string, string | undefined>>;
  processes: Processes;
}

/** Runs the service until the signal aborts; answers the exit status. */
export async function runService(options: RunOptions, given: RunPorts): Promise<number> {
  const ports: RunPorts = { ...given, stderr: (text) => given.stderr(logText(text)) };
  let store: Store | undefined;
  let listening: Listening | undefined;
  let postgres: Postgres | undefined;
  const timers: (() => void)[] = [];
  try {
    const beginning = new Beginning(options.seed);
    const user = options.postgres ? await serverUser(options.postgresUser, ports.processes) : undefined;
    store = Store.open(options.data);
    refuseWithoutServers(options, store);
    const log = new ErrorLog(ports);
    postgres = options.postgres ? await openPostgres(options, { ...ports, store, log }, user) : undefined;
    const service = make(options, { ...ports, log }, beginning, store, postgres);
    if (!(await clearedFor(beginning.projects, service, ports.signal))) return 0;
    // Before anything is made: where it cannot listen, the first key is not shown, and so not lost either.
    const served = postgres?.served ?? (await ownCertificate(options));
    const address = { ...options, tls: options.apiTls ? served?.certificate : undefined };
    listening = await listen(service, address, postgres?.driverAccess).catch((error: unknown) => {
      throw new CannotRun(`listen on ${options.host}, port ${options.port}`, error, "others with --host and --port");
    });
    // A service that was killed has left its own; the one beside which this cannot start keeps its.
    announce(options.readyFile);
    const firstKey = beginning.seedAtStart(service);
    const majors = beginning.projects.map(({ pgVersion }) => pgVersion);
    if (postgres) await postgres.begin(service, majors);
    else changeInParts(service, setBack);
    timers.push(keepTime(service), keepClear(service));
    const origin = originOf(options, listening.port);
    if (firstKey !== undefined) ports.stdout(`API key (shown once): ${firstKey}`);
    ports.stdout(`Listening on ${origin}${apiRoot}`);
    ports.stdout(`Console: ${origin}/`);
    if (postgres) {
      const { host, port } = postgres.backend.address;
      ports.stdout(`Postgres: ${bracketed(host)}:${port}`);
      ports.stdout(`Certificate authority: ${postgres.served.authorityFile}`);
      if (options.domain === undefined) ports.stderr(domainWarning);
      else if (port !== defaultPort) ports.stderr(portWarning(port));
    } else if (served) ports.stdout(`Certificate authority: ${served.authorityFile}`);
    announce(options.readyFile, `${origin}${apiRoot}\n`);
    await aborted(ports.signal);
    announce(options.readyFile);
    return 0;
  } catch (error) {
    if (!foreseen.some((kind) => error instanceof kind) || !(error instanceof Error)) throw error;
    ports.stderr(`compute-operator service: ${error.message}`);
    return 1;
  } finally {
    for (const stop of timers) stop();
    await listening?.close();
    await postgres?.close();
    store?.close();
  }
}

/** Data would not follow what a model does: a branch that it restores would lose its databases later. */
function refuseWithoutServers({ postgres, data }: RunOptions, { branchData }: Store): void {
  if (postgres || !branchData.any()) return;
  throw new StoreUnusable(
    `${data} has branches with data of real servers: start with --postgres, or choose another file with --data`,
  );
}

/** The certificate of a service without Postgres, by an authority beside its data. */
function ownCertificate({ apiTls, data, domain, host }: RunOptions) {
  if (!apiTls) return undefined;
  return certificateBy(authorityPath(data, ""), servedNames(domain, host));
}

function originOf({ apiTls, domain, host }: RunOptions, port: number): string {
  if (!apiTls || domain === undefined) return `http://${bracketed(host)}:${port}`;
  return new URL(`https://api.${domain}:${port}`).origin;
}

function openPostgres(
  options: RunOptions,
  { log, ...ports }: RunPorts & { store: Store; log: ErrorLog },
  user: ProcessUser | undefined,
): Promise<Postgres> {
  const settings = {
    host: options.host,
    port: options.postgresPort,
    advertise: options.postgresAdvertise,
    domain: options.domain,
    binaries: options.postgresBin,
    user,
    data: options.data,
    temporaryDiskScale: options.temporaryDiskScale,
  };
  return Postgres.open(settings, { ...ports, onError: (error) => log.report(error) });
}

const domainWarning =
  "Without --domain the hosts of computes lead nowhere, and so does what the vendor's tools build from them, as neonctl connection-string does: take connection_uri of the API, or set --domain.";

function portWarning(port: number): string {
  return `The vendor's tools build addresses from a compute's host and port ${defaultPort}, but clients of Postgres connect to port ${port}: they need it beside the host, or the service needs --postgres-port ${defaultPort}.`;
}

function make(
  options: RunOptions,
  ports: RunPorts & { log: ErrorLog },
  beginning: Beginning,
  store: Store,
  postgres: Postgres | undefined,
): Service {
  const { timeScale, strictSpec, faults, projectLock, branchRecovery, rateLimits, testControls, domain } = options;
  const shared = { timeScale, rules: rules[options.rules], strictSpec, faults, projectLock, branchRecovery, domain };
  const clock = new AdvanceableClock(ports.clock);
  return createService({
    clock,
    random: ports.random,
    ids: ports.ids,
    store,
    ...(postgres && { behind: postgres }),
    options: { ...shared, ...(!rateLimits && { rateLimits: undefined }) },
    ...(testControls && {
      testControls: {
        applySeed: (context: ServiceContext, at: number) => beginning.applySeed(context, at),
        advance: (ms: number) => clock.advance(ms),
      },
    }),
    onError: (error) => ports.log.report(error),
  });
}

/** First content of the store: the seed's, or without a seed and in an empty store the first account. */
class Beginning {
  readonly #file: string | undefined;
  #seed: Seed | undefined;

  /** Throws `BadSeed`. */
  constructor(file: string | undefined) {
    this.#file = file;
    this.#seed = file === undefined ? undefined : readSeed(file);
  }

  /** Makes it; answers the key of the first account where that was made. */
  seedAtStart(service: Service): string | undefined {
    if (this.#seed) {
      service.change((context, at) => this.applySeed(context, at));
      return undefined;
    }
    if (service.context.store.accounts.oldest(1).length > 0) return undefined;
    const { seed, secret } = firstSeed(service.context);
    this.#seed = seed;
    service.change((context, at) => this.applySeed(context, at));
    return secret;
  }

  get projects(): Seed["projects"] {
    return this.#seed?.projects ?? [];
  }

  /** To be called in a transaction: nothing of a seed is planted where something in it cannot be. */
  applySeed(context: ServiceContext, at: number): void {
    if (!this.#seed) throw refusals.conflict("there is no seed to go back to: start the service with --seed");
    try {
      applySeed(context, this.#seed, at);
    } catch (error) {
      if (!(error instanceof BadSeed) || this.#file === undefined) throw error;
      throw new BadSeed(`${this.#file}: ${error.message}`, { cause: error });
    }
  }
}

/** Writes the file that says that the service is ready, whole or not at all; without a text, removes it. */
function announce(file: string | undefined, text?: string): void {
  if (file === undefined) return;
  try {
    if (text === undefined) return rmSync(file, { force: true });
    writeFileSync(`${file}.tmp`, text);
    renameSync(`${file}.tmp`, file);
  } catch (error) {
    throw new CannotRun(`write the file ${file}`, error, "another with --ready-file");
  }
}

/** The system refuses what the service needs; `instead` tells what to choose. */
class CannotRun extends Error {
  override name = "CannotRun";

  constructor(what: string, cause: unknown, instead: string) {
    super(`cannot ${what}: ${messageOf(cause)}. Choose ${instead}.`, { cause });
  }
}

/** Errors that end the process with a message instead of a stack. */
const foreseen = [StoreUnusable, BadSeed, CannotRun, PostgresUnusable, ServerFailed] as const;

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
