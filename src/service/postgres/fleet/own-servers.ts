import { rm } from "node:fs/promises";
import { basename } from "node:path";
import { ownerOfProject } from "../../accounts/owner.ts";
import { settingNumber } from "../../computes/setting-bounds.ts";
import { Turns } from "../../sharing/turns.ts";
import { mostCopiesOfOwner } from "../branches/branch-copies.ts";
import { lastLimits } from "../data/backup.ts";
import { mayHavePrepared } from "../data/prepared-files.ts";
import { ServerFailed } from "../host/failure.ts";
import { largerOf, type ServerConfig } from "../server/config.ts";
import type { OwnServer, Serve } from "../server/own-server.ts";
import type { PostgresServer, ServerPlace } from "../server/server.ts";
import type { FleetPorts } from "./fleet-ports.ts";
import { ownConfig } from "./server-configs.ts";

type Launch = (place: ServerPlace, config: ServerConfig) => Promise<PostgresServer>;

/** The servers that run on some data only for the service. */
export class OwnServers {
  readonly #ports: Pick<FleetPorts, "ends" | "home" | "sessions" | "sockets" | "store" | "temporaryDiskScale">;
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

  /** Begins once fewer than four run for the owner of the branch: their processes count in no share of those. */
  serve(...wanted: Parameters<Serve>): ReturnType<Serve> {
    const { store } = this.#ports;
    const { promise, resolve, reject } = Promise.withResolvers<OwnServer>();
    const run = async () => {
      const { server, own } = await this.#start(...wanted);
      resolve(own);
      await server.ended;
      this.#running.delete(server);
    };
    // The directory of a branch's data is named after it, also where that is being made.
    const [branchId = ""] = basename(wanted[0]).split(".");
    const { projectId = branchId } = store.branches.byId(branchId) ?? {};
    this.#ofOwner.take(ownerOfProject(store, projectId), run, projectId).catch(reject);
    return promise;
  }

  async #start(...[data, edition, more = {}]: Parameters<Serve>) {
    const { ends, home, sessions } = this.#ports;
    if (ends.aborted) throw serviceEnds();
    const base = ownConfig(this.#ports, data, edition.major);
    // Prepared transactions need the locks that they had.
    const before = (await mayHavePrepared(data)) ? await lastLimits(data) : base.limits;
    const maxLocks = settingNumber(more.settings ?? {}, "max_locks_per_transaction");
    const limits = largerOf(before, { ...base.limits, maxLocks });
    const config = { ...base, ...more, limits, settings: { ...base.settings, ...more.settings } };
    const logFile = home.making(`${basename(data)}.log`);
    const server = await this.#launch({ postgres: edition.postgres, data, logFile }, config).catch(async (error) => {
      await rm(logFile, { force: true });
      throw error;
    });
    const stop = async () => {
      await server.stop();
      await rm(logFile, { force: true });
    };
    if (ends.aborted) {
      await stop();
      throw serviceEnds();
    }
    const connect: OwnServer["connect"] = (database, login) => sessions.open(config, database, login);
    this.#running.set(server, logFile);
    return { server, own: { connect, stop } };
  }

  /** Stops all, whatever is done on them: a client's function may run there, and never end. */
  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((server) => server.stop()));
  }
}

function serviceEnds(): ServerFailed {
  return new ServerFailed("the service ends");
}
