import { join } from "node:path";
import { maxPooledConnections } from "../../../api/compute-units.ts";
import type { ServiceClock } from "../../clock.ts";
import { Turns } from "../../sharing/turns.ts";
import type { Home } from "../data/home.ts";
import type { Processes } from "../host/processes.ts";
import type { Sockets } from "../host/sockets.ts";
import type { ServerConfig } from "../server/config.ts";
import { Pooler, type PoolerProgram } from "../server/pooler.ts";
import type { PostgresServer } from "../server/server.ts";
import type { RoleVerifier } from "../session/scram.ts";

export interface PoolersPorts {
  processes: Processes;
  clock: ServiceClock;
  home: Home;
  sockets: Sockets;
  program: PoolerProgram;
}

/** A compute's server. */
interface Before {
  server: PostgresServer;
  config: ServerConfig;
}

/** A role, and the verifier that its client has met. */
interface Proven {
  role: string;
  verifier: RoleVerifier;
  /** Ends what there is of another role that had the name before, by its number. Rejects with `ServerFailed`. */
  endFormer: (oid: string) => Promise<void>;
}

/** The poolers of computes: each starts with the first client of the pooled host, and ends with its server. */
export class Poolers {
  readonly #ports: PoolersPorts;
  /** By the compute's id. */
  readonly #poolers = new Map<string, { server: PostgresServer; pooler: Pooler }>();
  readonly #turns = new Turns();

  constructor(ports: PoolersPorts) {
    this.#ports = ports;
  }

  /**
   * The path of the socket of the pooler before a compute's server, for a role that has logged in. Rejects with
   * `ServerFailed`.
   */
  socketFor(endpointId: string, before: Before, { role, verifier, endFormer }: Proven): Promise<string> {
    return this.#turns.take(endpointId, async () => {
      const pooler = await this.#poolerBefore(endpointId, before);
      await pooler.learn(role, verifier, endFormer);
      return pooler.socket;
    });
  }

  async #poolerBefore(endpointId: string, { server, config }: Before): Promise<Pooler> {
    const known = this.#poolers.get(endpointId);
    if (known?.server === server) return known.pooler;
    // PgBouncer removes its socket's path when it ends, although the path is another's by then.
    await known?.pooler.stop();
    const pooler = await this.#start(endpointId, config);
    this.#poolers.set(endpointId, { server, pooler });
    void this.#watch(endpointId, server, pooler);
    return pooler;
  }

  /** Resolves when all are gone. To be called when their servers have ended. */
  async idle(): Promise<void> {
    await this.#turns.idle();
    await Promise.all([...this.#poolers.values()].map(({ pooler }) => pooler.stop()));
  }

  #start(endpointId: string, config: ServerConfig): Promise<Pooler> {
    const { home, sockets, program, processes, clock } = this.#ports;
    return Pooler.start(
      { processes, clock, user: home.user },
      {
        program,
        files: join(home.root, "poolers", endpointId),
        logFile: home.log(endpointId, "-pooler"),
        sockets: sockets.of(`pooler ${endpointId}`),
        server: config,
        maxConnections: config.limits.maxConnections,
        maxClients: maxPooledConnections,
      },
    );
  }

  async #watch(endpointId: string, server: PostgresServer, pooler: Pooler): Promise<void> {
    await Promise.race([server.ended, pooler.ended]);
    await pooler.stop();
    if (this.#poolers.get(endpointId)?.pooler === pooler) this.#poolers.delete(endpointId);
  }
}
