import { lastLimits } from "../data/backup.ts";
import { mayHavePrepared } from "../data/prepared-files.ts";
import { ServerFailed } from "../host/failure.ts";
import { largerOf, type ServerConfig } from "../server/config.ts";
import type { Serve } from "../server/own-server.ts";
import type { PostgresServer, ServerPlace } from "../server/server.ts";
import type { FleetPorts } from "./fleet-ports.ts";
import { ownConfig } from "./server-configs.ts";

/** Names the log that these servers share. */
export const ownLog = "copies";

type Launch = (place: ServerPlace, config: ServerConfig) => Promise<PostgresServer>;

/** The servers that run on some data only for the service. */
export class OwnServers {
  readonly #ports: Pick<FleetPorts, "home" | "sessions" | "sockets" | "store" | "temporaryDiskScale">;
  readonly #launch: Launch;
  readonly #running = new Set<PostgresServer>();
  #closed = false;

  constructor(ports: FleetPorts, launch: Launch) {
    this.#ports = ports;
    this.#launch = launch;
  }

  async serve(...[data, edition, more = {}]: Parameters<Serve>): ReturnType<Serve> {
    const { home, sessions } = this.#ports;
    const own = ownConfig(this.#ports, data, edition.major);
    // Prepared transactions need the locks that they had.
    const limits = (await mayHavePrepared(data)) ? largerOf(own.limits, await lastLimits(data)) : own.limits;
    const config = { ...own, ...more, limits, settings: { ...own.settings, ...more.settings } };
    const place = { postgres: edition.postgres, data, logFile: home.log(ownLog) };
    const server = await this.#launch(place, config);
    if (this.#closed) {
      await server.stop();
      throw new ServerFailed("the service ends");
    }
    this.#running.add(server);
    server.onEnd(() => this.#running.delete(server));
    return {
      connect: (database, login) => sessions.open(config, database, login),
      stop: () => server.stop(),
    };
  }

  /** Stops all, whatever is done on them: a client's function may run there, and never end. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#running].map((server) => server.stop()));
  }
}
