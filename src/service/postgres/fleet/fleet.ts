import { statfs } from "node:fs/promises";
import { within } from "../../clock.ts";
import { Turns } from "../../sharing/turns.ts";
import { Uses } from "../../sharing/uses.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import { BranchCatalogs } from "../branches/branch-catalogs.ts";
import { BranchStorage } from "../branches/branch-storage.ts";
import { canFollow } from "../data/backup.ts";
import { forgetPrepared } from "../data/prepared-files.ts";
import { Held, ServerFailed, serviceEnds } from "../host/failure.ts";
import { stopLeftover } from "../host/leftover.ts";
import { allowedOf } from "../server/allowed-settings.ts";
import { isBelow, type Limits, largerOf, limitsOf, mostReaders, type ServerConfig } from "../server/config.ts";
import { startWithLocksLeft } from "../server/locks-left.ts";
import type { Act } from "../server/own-server.ts";
import { PostgresServer, type ServerPlace, writeConfig } from "../server/server.ts";
import type { Edition } from "../server/templates.ts";
import { unreachablePrepared } from "../session/prepared.ts";
import { unheld } from "../session/unheld.ts";
import { type FleetPorts, isPrimary, type Running, replicasOf, servedBy } from "./fleet-ports.ts";
import { Logouts } from "./logouts.ts";
import { OwnServers } from "./own-servers.ts";
import { type BranchPlace, ReplicaData } from "./replica-data.ts";
import { computeConfig } from "./server-configs.ts";
import { withPrimary } from "./with-primary.ts";
import { withProcesses } from "./with-processes.ts";

/** Longest time for a server to name its roles and databases, in milliseconds. */
const refreshLimitMs = 1000;

/** The servers that run behind computes. */
export class Fleet {
  readonly storage: BranchStorage;
  readonly #ports: FleetPorts;
  readonly #catalogs: BranchCatalogs;
  readonly #own: OwnServers;
  readonly #replicas: ReplicaData;
  readonly #running = new Map<string, Running>();
  readonly #turns = new Turns();
  readonly #used = new Uses();

  constructor(ports: FleetPorts) {
    this.#ports = ports;
    const { store, home, templates, newGeneration } = ports;
    this.#own = new OwnServers(ports, (place, config) => this.#launch(place, config));
    this.storage = new BranchStorage({
      store,
      home,
      templates,
      turns: this.#turns,
      used: this.#used,
      newGeneration,
      freeBytes: (directory) => statfs(directory).then(({ bavail, bsize }) => bavail * bsize),
      serverOn: (data) => {
        const running = this.#serverOn(data);
        const connect = running && unheld(this.#sessionsOf(running), ports.clock);
        return connect && { connect: () => connect("postgres"), ended: running.server.ended };
      },
      serve: (...of) => this.#own.serve(...of),
      reading: (data, edition, act) => this.#reading(data, edition, act),
      clock: ports.clock,
    });
    this.#replicas = new ReplicaData(ports, this.storage);
    const restart = async (replica: StoredEndpoint) => {
      const edition = await this.#editionOf(replica);
      await this.#stop(replica.id);
      // Data whose primary has ended would be settled first, and that waits for the change that ends the logins.
      if (this.#serverOn(this.storage.of(replica.branchId).directory)) await this.#startReplica(replica, edition);
      return this.serverOf(replica.id);
    };
    const logouts = new Logouts({ ...ports, running: () => this.running(), restart });
    this.#catalogs = new BranchCatalogs({ ...ports, storage: this.storage, logOut: (...of) => logouts.end(...of) });
  }

  /** A compute's server; `undefined` where it does not run. */
  serverOf(endpointId: string): Running | undefined {
    const running = this.#running.get(endpointId);
    return running?.server.running ? running : undefined;
  }

  /** Starts the server of a compute; one that runs is started again. Rejects with `ServerFailed`. */
  async start(endpoint: StoredEndpoint): Promise<void> {
    const edition = await this.#editionOf(endpoint);
    if (this.#running.get(endpoint.id)?.endpoint.branchId !== endpoint.branchId) await this.stop(endpoint.id);
    await this.#turns.take(endpoint.branchId, async () => {
      if (this.#ports.ends.aborted) throw serviceEnds();
      await this.#stop(endpoint.id);
      await (isPrimary(endpoint) ? this.#startPrimary(endpoint, edition) : this.#startReplica(endpoint, edition));
    });
  }

  /** Stops the server of a compute, where it runs. */
  async stop(endpointId: string): Promise<void> {
    const running = this.#running.get(endpointId);
    // Clients of a compute that is gone do not wait for the turn, which may be a copy's for minutes.
    if (!this.#ports.store.endpoints.byId(endpointId)) this.#ports.clients.logOut(endpointId, undefined);
    if (running) await this.#turns.take(running.endpoint.branchId, () => this.#stop(endpointId));
  }

  /** Gives a running server a compute's settings, and its branch's roles and databases; connections stay. */
  async reconfigure(endpoint: StoredEndpoint): Promise<void> {
    const before = this.#running.get(endpoint.id);
    if (!before) return;
    if (before.endpoint.branchId !== endpoint.branchId) return this.stop(endpoint.id);
    await this.#turns.take(endpoint.branchId, async () => {
      // A server that starts has no client that could hold anything up.
      const restart = async (error: unknown) => {
        if (!(error instanceof Held && isPrimary(endpoint))) throw error;
        await this.#startPrimary(endpoint, await this.#editionOf(endpoint));
        if (!this.#catalogs.isCurrent(endpoint.branchId)) throw error;
      };
      const config = { ...before.config, settings: allowedOf(endpoint.settings.pg_settings) };
      await writeConfig(before.data, config, { ...this.#ports, user: this.#ports.home.user });
      before.endpoint = endpoint;
      await this.#bring(before).catch(restart);
    });
  }

  async #bring(running: Running): Promise<void> {
    const open = this.#sessionsOf(running);
    const client = await unheld(open, this.#ports.clock)("postgres");
    await client.query("SELECT pg_reload_conf()").finally(() => client[Symbol.dispose]());
    if (isPrimary(running.endpoint)) await this.#catalogs.sync(servedBy(running), open);
  }

  #sessionsOf({ config }: Running): Parameters<Act<unknown>>[0] {
    return (database) => this.#ports.sessions.open(config, database);
  }

  /** True of a role that no client of a branch logs in as, whatever its server says. */
  refusesLogin(branchId: string, role: string): boolean {
    return this.#catalogs.refusesLogin(branchId, role);
  }

  /** Takes over into the store what clients have changed with SQL in a branch's catalog, where its primary runs. */
  async refresh(branchId: string): Promise<void> {
    const primary = this.running().find(({ endpoint }) => endpoint.branchId === branchId && isPrimary(endpoint));
    if (primary?.server.running) await this.#refresh(primary);
  }

  /** Gives up on a server that does not answer: the store then shows what was known before. */
  async #refresh(running: Running): Promise<void> {
    const done = this.#catalogs.refresh(servedBy(running), this.#sessionsOf(running)).catch(() => {});
    await within(this.#ports.clock, refreshLimitMs, done);
  }

  /** Lets `act` connect to the data of a branch, whether its primary runs or not. It is not replaced meanwhile. */
  async reading<Result>(branchId: string, pgVersion: number, act: Act<Result>, gone?: AbortSignal): Promise<Result> {
    const edition = await this.#ports.templates.edition(pgVersion);
    const read = async () => {
      const branch = this.storage.of(branchId);
      if (!this.#serverOn(branch.directory)) await this.#settleAlone(branch, edition, gone);
      return this.#reading(branch.directory, edition, act, gone);
    };
    // A client's lock may hold each up, and many wait: in turn with operations, as the end of a stolen password.
    return this.#turns.take(branchId, read, "readings");
  }

  #reading<Result>(directory: string, edition: Edition, act: Act<Result>, gone?: AbortSignal): Promise<Result> {
    const running = this.#serverOn(directory);
    return running ? act(this.#sessionsOf(running)) : this.#own.serving(directory, edition, act, gone);
  }

  #serverOn(data: string): Running | undefined {
    return this.running().find((one) => one.data === data);
  }

  /** The servers that run. */
  running(): readonly Running[] {
    return [...this.#running.values()];
  }

  /** The logs of all servers and poolers that run. */
  logs(): string[] {
    const { home } = this.#ports;
    const ofComputes = this.running().flatMap(({ endpoint: { id } }) => [home.log(id), home.log(id, "-pooler")]);
    return [...this.#own.logs, ...ofComputes];
  }

  /** Stops everything, also what is held up in a turn. To be called when `ends` has aborted. */
  async close(): Promise<void> {
    await Promise.all([this.#own.close(), ...[...this.#running.keys()].map((id) => this.#stop(id))]);
    await this.#turns.idle();
  }

  async #startPrimary(endpoint: StoredEndpoint, edition: Edition): Promise<void> {
    const { branchId } = endpoint;
    const branch = this.storage.of(branchId);
    const other = this.#serverOn(branch.directory);
    if (other) await this.#stop(other.endpoint.id);
    const limits = this.#limitsOf(endpoint);
    const least = largerOf(limits, branch);
    const outgrown = this.#standbysBelow(branchId, limits);
    if (isBelow(branch, limits)) this.#ports.change(() => this.#ports.store.branchData.put({ ...branch, ...least }));
    for (const standby of outgrown) await this.#stop(standby.id);
    const config = computeConfig(this.#ports, endpoint, edition.major, { limits, primary: undefined });
    const run = () => this.#run(endpoint, branch.generation, branch.directory, edition, config);
    await run();
    try {
      if (await this.#forgets(endpoint.id)) await run();
      await this.#catalogs.syncAtStart(branch, (database) => this.#ports.sessions.open(config, database));
    } catch (error) {
      await this.#stop(endpoint.id);
      throw error;
    }
    for (const standby of outgrown) await this.#startReplica(standby, edition);
  }

  /** Stops a server and answers true, where prepared transactions would keep it from changes of the API for ever. */
  async #forgets(endpointId: string): Promise<boolean> {
    const running = this.serverOf(endpointId);
    if (!running || this.#catalogs.isCurrent(running.endpoint.branchId)) return false;
    const ids = await unreachablePrepared(this.#sessionsOf(running));
    if (ids.length === 0) return false;
    await this.#stop(endpointId);
    await forgetPrepared(running.data, ids);
    return true;
  }

  #limitsOf({ minCu: min, maxCu: max, settings }: StoredEndpoint): Limits {
    return limitsOf({ min, max }, this.#ports.maxConnections, settings.pg_settings);
  }

  /** The standbys that would stop following a primary of these limits. */
  #standbysBelow(branchId: string, limits: Limits): StoredEndpoint[] {
    return replicasOf(branchId, this.running())
      .filter(({ config: { limits: own } }) => isBelow(own, limits))
      .map(({ endpoint }) => endpoint);
  }

  async #startReplica(endpoint: StoredEndpoint, edition: Edition): Promise<void> {
    if (replicasOf(endpoint.branchId, this.running()).length >= mostReaders.replicas)
      throw new ServerFailed(`${mostReaders.replicas} replicas of its branch run, and no more can: suspend one`);
    const [branch, data] = [this.storage.of(endpoint.branchId), this.#ports.home.replica(endpoint.id)];
    const running = this.#serverOn(branch.directory);
    if (!running) await this.#settleAlone(branch, edition);
    if (!(await canFollow(data, branch, running !== undefined))) await this.#replicas.make(endpoint, branch, edition);
    const limits = largerOf(this.#limitsOf(endpoint), branch);
    const primary = this.#ports.sockets.of(`branch ${endpoint.branchId}`);
    const config = computeConfig(this.#ports, endpoint, edition.major, { limits, primary });
    const start = () => this.#run(endpoint, branch.generation, data, edition, config);
    await withPrimary(this.#ports, running, { config, start, stop: () => this.#stop(endpoint.id) });
  }

  /** Brings into data whose primary does not run what the API made meanwhile: readers, and standbys, find it there. */
  async #settleAlone(branch: BranchPlace, edition: Edition, gone?: AbortSignal): Promise<void> {
    if (this.#catalogs.isCurrent(branch.branchId)) return;
    await this.#own.serving(branch.directory, edition, (connect) => this.#catalogs.syncAtStart(branch, connect), gone);
  }

  async #run(
    endpoint: StoredEndpoint,
    generation: string,
    data: string,
    edition: Edition,
    config: ServerConfig,
  ): Promise<void> {
    const place = { postgres: edition.postgres, data, logFile: this.#ports.home.log(endpoint.id) };
    const launch = () => this.#launch(place, config);
    const counted = await withProcesses(this.#ports, { endpointId: endpoint.id, data, config }, launch);
    if (this.#ports.ends.aborted) {
      await counted.server.stop();
      throw serviceEnds();
    }
    const running = { endpoint, generation, data, config, ...counted };
    this.#running.set(endpoint.id, running);
    void this.#watch(running);
  }

  async #watch(running: Running): Promise<void> {
    const { id } = running.endpoint;
    await running.server.ended;
    if (this.#running.get(id) !== running) return;
    this.#running.delete(id);
    if (!this.#ports.ends.aborted) this.#ports.onCrash(id);
  }

  async #launch(place: ServerPlace, config: ServerConfig): Promise<PostgresServer> {
    const { processes, clock, home, ends } = this.#ports;
    return this.#used.by(place.data, async () => {
      await stopLeftover(place.data, processes, clock);
      const start = () => PostgresServer.start({ processes, clock, user: home.user, ends }, place, config);
      return startWithLocksLeft(place.data, config, start);
    });
  }

  async #stop(endpointId: string): Promise<void> {
    const running = this.#running.get(endpointId);
    this.#running.delete(endpointId);
    // The store shows what clients have changed also while the compute is idle.
    if (running?.server.running && isPrimary(running.endpoint)) await this.#refresh(running);
    await running?.server.stop();
  }

  async #editionOf(endpoint: StoredEndpoint): Promise<Edition> {
    const project = this.#ports.store.projects.get(endpoint.projectId);
    if (!project) throw new ServerFailed(`project ${endpoint.projectId} is gone`);
    return this.#ports.templates.edition(project.pgVersion);
  }
}
