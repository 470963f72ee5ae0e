import { rm } from "node:fs/promises";
import { basename } from "node:path";
import { ownerOfProject } from "../../accounts/owner.ts";
import { settingNumber } from "../../computes/setting-bounds.ts";
import { Turns } from "../../sharing/turns.ts";
import { mostCopiesOfOwner } from "../branches/branch-copies.ts";
import { lastLimits } from "../data/backup.ts";
import { mayHavePrepared } from "../data/prepared-files.ts";
import { serviceEnds } from "../host/failure.ts";
import { largerOf, type ServerConfig } from "../server/config.ts";
import type { Act, Serve } from "../server/own-server.ts";
import type { PostgresServer, ServerPlace } from "../server/server.ts";
import type { Edition } from "../server/templates.ts";
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

  /** Runs one until `act` has ended. Of an owner a few at once: no share has their processes. */
  serving<Result>(data: string, edition: Edition, act: Act<Result>): Promise<Result> {
    const { store } = this.#ports;
    // The directory of a branch's data is named after it.
    const [branchId = ""] = basename(data).split(".");
    const { projectId = branchId } = store.branches.byId(branchId) ?? {};
    const run = async () => {
      const server = await this.serve(data, edition);
      try {
        return await act((database) => server.connect(database));
      } finally {
        await server.stop();
      }
    };
    return this.#ofOwner.take(ownerOfProject(store, projectId), run, projectId);
  }

  async serve(...[data, edition, more = {}]: Parameters<Serve>): ReturnType<Serve> {
    const { ends, home, sessions } = this.#ports;
    if (ends.aborted) throw serviceEnds();
    const own = ownConfig(this.#ports, data, edition.major);
    // Prepared transactions need the locks that they had.
    const before = (await mayHavePrepared(data)) ? await lastLimits(data) : own.limits;
    const maxLocks = settingNumber(more.settings ?? {}, "max_locks_per_transaction");
    const limits = largerOf(before, { ...own.limits, maxLocks });
    const config = { ...own, ...more, limits, settings: { ...own.settings, ...more.settings } };
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
    this.#running.set(server, logFile);
    server.onEnd(() => this.#running.delete(server));
    return { connect: (database, login) => sessions.open(config, database, login), stop };
  }

  /** Stops all, whatever is done on them: a client's function may run there, and never end. */
  async close(): Promise<void> {
    await Promise.all([...this.#running.keys()].map((server) => server.stop()));
  }
}
