import { hash } from "node:crypto";
import { homedir } from "node:os";
import { join } from "node:path";
import { ownerOfProject } from "../accounts/owner.ts";
import { changeInParts } from "../change-in-parts.ts";
import type { ServiceClock } from "../clock.ts";
import { scaled } from "../computes/durations.ts";
import { messageOf } from "../error-message.ts";
import type { Ids } from "../ids.ts";
import { refusals } from "../refusal.ts";
import type { Repeated } from "../repeated.ts";
import { Shares } from "../sharing/shares.ts";
import type { Store } from "../store/store.ts";
import { ActivityWatch } from "./activity.ts";
import { PostgresBackend } from "./backend.ts";
import { BranchCopies } from "./branches/branch-copies.ts";
import { PostgresCatalog } from "./catalog/catalog.ts";
import { Home } from "./data/home.ts";
import type { DrivenService } from "./driven-service.ts";
import { DriverAccess } from "./driver/driver-access.ts";
import { Queries } from "./driver/queries.ts";
import { refreshBefore } from "./fleet/catalog-refresh.ts";
import { Fleet } from "./fleet/fleet.ts";
import { Poolers } from "./fleet/poolers.ts";
import { replicaWatch } from "./fleet/replica-watch.ts";
import { SchemaReader } from "./fleet/schema-reader.ts";
import { Sessions } from "./fleet/sessions.ts";
import { Verifiers } from "./fleet/verifiers.ts";
import { Gate } from "./gate.ts";
import { HistoryKeeper } from "./history/keeper.ts";
import { sizeOf } from "./host/each-file.ts";
import { PostgresUnusable } from "./host/failure.ts";
import type { Processes, ProcessUser } from "./host/processes.ts";
import { isStillThere, Sockets } from "./host/sockets.ts";
import type { Admission } from "./proxy/admission.ts";
import { authorityPath, certificateBy, type ServedCertificate, servedNames } from "./proxy/certificates.ts";
import { Proxy, type Target } from "./proxy/proxy.ts";
import { OperationRunner, takeUp } from "./runner.ts";
import { SchemaComparer } from "./schema/comparer.ts";
import { findPooler } from "./server/pooler.ts";
import { logKeeper } from "./server/server-logs.ts";
import { Templates } from "./server/templates.ts";
import { Rejection } from "./session/rejection.ts";
import { ServiceSessions } from "./session/service-sessions.ts";
import { UsageKeeper } from "./usage-keeper.ts";

export interface PostgresSettings {
  /** The address to which clients connect. */
  host: string;
  port: number;
  /** The address that URIs name instead, as `HOST:PORT`. */
  advertise: string | undefined;
  /** The domain in which each compute has a host name of its own. */
  domain: string | undefined;
  /** The directory of `postgres` and `initdb`. */
  binaries: string | undefined;
  /** The user that servers run as, where the service is root. */
  user: ProcessUser | undefined;
  /** The store's file, or `:memory:`. */
  data: string;
  /** Size of the computes' disks for temporary files, as a part of their normal size. */
  temporaryDiskScale: number;
}

export interface PostgresPorts {
  clock: ServiceClock;
  ids: Ids;
  store: Store;
  processes: Processes;
  env: Readonly<Record<string, string | undefined>>;
  stderr: (line: string) => void;
  onError: (error: unknown) => void;
}

/** Real Postgres behind the computes: servers, their data, and the proxy through which clients reach them. */
export class Postgres {
  readonly backend: PostgresBackend;
  readonly catalog: PostgresCatalog;
  readonly driverAccess: DriverAccess;
  readonly queries: Queries;
  /** The proxy's certificate, and the file of the authority that clients trust. */
  readonly served: ServedCertificate;
  readonly #ports: PostgresPorts;
  readonly #settings: PostgresSettings;
  readonly #home: Home;
  readonly #templates: Templates;
  readonly #secret: string;
  readonly #sessions: Sessions;
  readonly #proxy: Proxy;
  readonly #begun: Parts["begun"];
  readonly #ends = new AbortController();
  #gate: Gate | undefined;
  #fleet: Fleet | undefined;
  #keepers: readonly Pick<Repeated, "begin" | "close">[] = [];
  #usage: UsageKeeper | undefined;
  #schemas: SchemaReader | undefined;
  #poolers: Poolers | undefined;
  #runner: OperationRunner | undefined;
  #activity: ActivityWatch | undefined;

  /** Listens, but has clients wait until `begin` has ended. Rejects with `PostgresUnusable`. */
  static async open(settings: PostgresSettings, ports: PostgresPorts): Promise<Postgres> {
    const { processes, clock, store, ids, env, stderr } = ports;
    const home = await Home.open({ data: settings.data, user: settings.user, processes, clock });
    try {
      const secret = store.transaction(() => store.constant("postgres-password", () => ids.secret()));
      await home.claim(hash("sha256", secret), store.operations.lastSeq());
      const cache = join(env["XDG_CACHE_HOME"] || join(env["HOME"] || homedir(), ".cache"), "compute-operator");
      const programs = { directory: settings.binaries, cache: join(cache, "postgres"), env, progress: stderr };
      const templates = new Templates(home, programs, processes);
      return await Postgres.#listening(settings, ports, { home, templates, secret, settings });
    } catch (error) {
      await home.close();
      throw error;
    }
  }

  static async #listening(
    settings: PostgresSettings,
    ports: PostgresPorts,
    parts: Omit<Parts, "served" | "begun" | "admit">,
  ): Promise<Postgres> {
    const begun = Promise.withResolvers<Gate>();
    // A rejection that nobody awaits, because the service ends before, must not end the process.
    begun.promise.catch(() => {});
    const admit = async (target: Target) => (await begun.promise).admit(target);
    const place = authorityPath(settings.data, parts.home.root);
    const names = servedNames(settings.domain, addressOf(settings, settings.port).host);
    const served = await certificateBy(place, names);
    const proxy = new Proxy({
      clock: ports.clock,
      certificate: served.certificate,
      admit,
      onError: ports.onError,
    });
    const { host } = settings;
    const port = await proxy.listen(settings.port, host).catch((error: unknown) => {
      throw new PostgresUnusable(
        `cannot listen for Postgres on ${host}, port ${settings.port}: ${messageOf(error)}. Choose others with --host and --postgres-port.`,
      );
    });
    return new Postgres(ports, { ...parts, served, begun, admit }, proxy, addressOf(settings, port));
  }

  private constructor(ports: PostgresPorts, parts: Parts, proxy: Proxy, address: { host: string; port: number }) {
    this.#ports = ports;
    this.served = parts.served;
    this.#begun = parts.begun;
    this.#settings = parts.settings;
    this.#home = parts.home;
    this.#templates = parts.templates;
    this.#secret = parts.secret;
    this.#proxy = proxy;
    this.#sessions = new Sessions();
    this.backend = new PostgresBackend(address, this.#sessions, parts.templates, (branchId) =>
      this.#fleet?.storage.history(branchId),
    );
    const comparer = new SchemaComparer(ports.clock);
    this.catalog = new PostgresCatalog(ports, {
      read: async (...wanted) => {
        if (!this.#schemas) throw refusals.unavailable("the service is starting up");
        return this.#schemas.read(...wanted);
      },
      compare: (...wanted) => comparer.compare(...wanted),
    });
    this.queries = new Queries(ports.clock, parts.admit);
    this.driverAccess = new DriverAccess(
      ports.clock,
      proxy,
      parts.admit,
      async (reached) => this.#fleet && refreshBefore(reached, this.#fleet),
    );
  }

  /** Makes what projects need, and then carries operations out. Rejects where a version `needed` is not there. */
  async begin(service: DrivenService, needed: readonly number[] = []): Promise<void> {
    changeInParts(service, takeUp);
    const { store, processes, clock, ids, stderr, onError } = this.#ports;
    for (const major of needed) await this.#templates.edition(major);
    await this.#templates.prepare(store.projects.majorVersions(), this.#ports);
    const change = (act: () => void) => service.change(act);
    const onCrash = (endpointId: string) => this.#runner?.crashed(endpointId);
    const sockets = new Sockets(this.#home.sockets, (key) => isStillThere(store, key));
    const sessions = new ServiceSessions(clock);
    const processShares = new Shares(processes.most);
    const fleet = new Fleet({
      store,
      clock,
      processes,
      processShares,
      home: this.#home,
      sockets,
      templates: this.#templates,
      sessions,
      clients: this.#sessions,
      passwordOf: (passwordSource) => this.catalog.passwordOf({ passwordSource }),
      newGeneration: () => ids.uuid().slice(0, 8),
      temporaryDiskScale: this.#settings.temporaryDiskScale,
      maxConnections: (range) => service.context.options.rules.maxConnections(range),
      ends: this.#ends.signal,
      change,
      report: stderr,
      onCrash,
    });
    const copies = new BranchCopies({ store, clock, storage: fleet.storage, ends: this.#ends.signal, change });
    this.#schemas = new SchemaReader({ store, fleet, copies, processShares });
    this.#fleet = fleet;
    this.#runner = new OperationRunner(service, fleet, copies);
    const poolers = await this.#findPoolers(sockets);
    this.#poolers = poolers;
    const verifiers = new Verifiers({ sessions, secret: this.#secret, fleet });
    const gate = new Gate(service, { fleet, poolers, processShares, sessions: this.#sessions, verifiers });
    this.#activity = new ActivityWatch(service, {
      sessions: this.#sessions,
      ask: async (endpointId, sql) => {
        const running = fleet.serverOf(endpointId);
        return running && verifiers.ask(running, sql);
      },
    });
    const [logs, history] = [logKeeper(clock, () => fleet.logs(), onError), this.#newKeeper(service, fleet)];
    this.#keepers = [logs, history, replicaWatch({ fleet, verifiers, clock, startAgain: onCrash, onError })];
    this.#usage = new UsageKeeper(service);
    this.#runner.begin();
    this.#activity.begin();
    for (const keeper of this.#keepers) keeper.begin();
    this.#usage.begin();
    this.#gate = gate;
    this.#begun.resolve(gate);
  }

  #newKeeper({ context }: DrivenService, fleet: Fleet): HistoryKeeper {
    const { clock, stderr } = this.#ports;
    return new HistoryKeeper({
      clock,
      running: () => fleet.running(),
      histories: fleet.storage.histories,
      // Data that was replaced meanwhile may be removed.
      addBase: (branchId) => fleet.storage.addBase(branchId).finally(() => this.#runner?.sweep()),
      sizeOf,
      ownerOf: (projectId) => ownerOfProject(context.store, projectId),
      keptSince: (projectId) => {
        const { history_retention_seconds = 0 } = context.store.projects.get(projectId)?.details ?? {};
        return clock.now() - scaled(context, history_retention_seconds * 1000);
      },
      onProblem: stderr,
    });
  }

  async #findPoolers(sockets: Sockets): Promise<Poolers | undefined> {
    const { processes, clock, env, stderr } = this.#ports;
    const program = await findPooler(env.PATH ?? "", processes);
    if (program === undefined) {
      stderr("pgbouncer is not on the path: clients of pooled hosts reach their servers directly.");
      return undefined;
    }
    if (!program.preparesStatements) {
      stderr(`${program.path} is older than 1.21: clients of pooled hosts cannot use prepared statements.`);
    }
    return new Poolers({ processes, clock, home: this.#home, sockets, program });
  }

  /** Lets nobody in any more, stops every server, and removes what is temporary. */
  async close(): Promise<void> {
    this.#begun.reject(new Rejection("57P03", "the service is shutting down"));
    const recorded = this.#usage?.close();
    this.#ends.abort();
    this.#runner?.close();
    this.#activity?.close();
    this.#gate?.close();
    // At once: a client may hold up what the keeper waits for.
    await Promise.all([recorded, ...this.#keepers.map((keeper) => keeper.close()), this.#fleet?.close()]);
    await this.#poolers?.idle();
    await this.#runner?.idle();
    await this.#proxy.close();
    await this.#home.close();
  }
}

interface Parts {
  settings: PostgresSettings;
  home: Home;
  templates: Templates;
  /** Makes up what a role that is not there would answer, always the same. */
  secret: string;
  served: ServedCertificate;
  /** Resolves when clients are let in: those who come before wait. */
  begun: PromiseWithResolvers<Gate>;
  admit: (target: Target) => Promise<Admission>;
}

/** The address in URIs: one that every client on this machine reaches, unless another one is given. */
function addressOf({ host, advertise }: PostgresSettings, port: number): { host: string; port: number } {
  if (advertise !== undefined) {
    const { hostname, port: named } = new URL(`http://${advertise}`);
    return { host: hostname.replaceAll(/^\[|\]$/g, ""), port: Number(named || "80") };
  }
  const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };
  return { host: everywhere[host] ?? host, port };
}
