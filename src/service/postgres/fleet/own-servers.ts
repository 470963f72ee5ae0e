import { rm } from "node:fs/promises";
import { basename } from "node:path";
import { ownerOfProject } from "../../accounts/owner.ts";
import { settingNumber } from "../../computes/setting-bounds.ts";
import { Turns } from "../../sharing/turns.ts";
import { mostCopiesOfOwner } from "../branches/branch-copies.ts";
import { lastLimits } from "../data/backup.ts";
import { mayHavePrepared } from "../data/prepared-files.ts";
import { ServerFailed, serviceEnds } from "../host/failure.ts";
import { largerOf, processesOf, type ServerConfig } from "../server/config.ts";
import type { Act, Serve } from "../server/own-server.ts";
import type { PostgresServer, ServerPlace } from "../server/server.ts";
import type { Edition } from "../server/templates.ts";
import type { FleetPorts } from "./fleet-ports.ts";
import { ownConfig } from "./server-configs.ts";
import { shareTaken } from "./with-processes.ts";

type Launch = (place: ServerPlace, config: ServerConfig) => Promise<PostgresServer>;

/** The servers that run on some data only for the service. */
export class OwnServers {
  readonly #ports: Pick<
    FleetPorts,
    "ends" | "home" | "processShares" | "sessions" | "sockets" | "store" | "temporaryDiskScale"
  >;
  readonly #launch: Launch;
  /** With the log of each: an error quotes its end, which is to be of the same data. */
  readonly #running = new Map<PostgresServer, string>();
  readonly #ofOwner = new Turns(mostCopiesOfOwner);

  constructor(ports: FleetPorts, launch: Launch) {
    this.#ports = ports;
    this.#launch = launch;
  }

  /** The logs of those that run. */
  get logs(): string[] {
    return [...this.#running.values()];
  }

  /** Runs one until `act` has ended, and none where `gone` aborts before its turn. Of an owner a few at once. */
  serving<Result>(data: string, edition: Edition, act: Act<Result>, gone?: AbortSignal): Promise<Result> {
    const run = async () => {
      if (gone?.aborted) throw new ServerFailed("the client has left");
      const server = await this.serve(data, edition);
      try {
        return await act((database) => server.connect(database));
      } finally {
        await server.stop();
      }
    };
    const { owner, projectId } = this.#placeOf(data);
    return this.#ofOwner.take(owner, run, projectId);
  }

  /** The directory of a branch's data is named after it. */
  #placeOf(data: string): { owner: string; projectId: string } {
    const { store } = this.#ports;
    const [branchId = ""] = basename(data).split(".");
    const { projectId = branchId } = store.branches.byId(branchId) ?? {};
    return { owner: ownerOfProject(store, projectId), projectId };
  }

  /** Runs one until it is stopped, with processes of its owner's share. */
  async serve(...[data, edition, more = {}]: Parameters<Serve>): ReturnType<Serve> {
    const { ends, home, processShares, sessions } = this.#ports;
    if (ends.aborted) throw serviceEnds();
    const own = ownConfig(this.#ports, data, edition.major);
    // Prepared transactions need the locks that they had.
    const before = (await mayHavePrepared(data)) ? await lastLimits(data) : own.limits;
    const maxLocks = settingNumber(more.settings ?? {}, "max_locks_per_transaction");
    const limits = largerOf(before, { ...own.limits, maxLocks });
    const config = { ...own, ...more, limits, settings: { ...own.settings, ...more.settings } };
    const place = processShares.of(this.#placeOf(data).owner);
    if (!place.take(processesOf(config))) throw new ServerFailed(shareTaken);
    const logFile = home.making(`${basename(data)}.log`);
    const server = await this.#launch({ postgres: edition.postgres, data, logFile }, config).catch(async (error) => {
      place.release();
      await rm(logFile, { force: true });
      throw error;
    });
    server.onEnd(() => place.release());
    const stop = async () => {
      await server.stop();
      await rm(logFile, { force: true });
    };
    if (ends.aborted) {
      await stop();
      throw serviceEnds();
    }
    this.#running.set(server, logFile);
    server.onEnd(() => this.#running.delete(server));
    return { connect: (database, login) => sessions.open(config, database, login), stop };
  }

  /** Stops all, whatever is done on them: a client's function may run there, and never end. */
  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((server) => server.stop()));
  }
}
