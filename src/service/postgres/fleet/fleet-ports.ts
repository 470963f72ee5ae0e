import type { ComputeUnitRange } from "../../../api/compute-units.ts";
import type { ServiceClock } from "../../clock.ts";
import type { Shares } from "../../sharing/shares.ts";
import type { StoredEndpoint } from "../../store/endpoints.ts";
import type { Store } from "../../store/store.ts";
import type { ServedData } from "../branches/branch-catalogs.ts";
import type { Home } from "../data/home.ts";
import type { Processes } from "../host/processes.ts";
import type { Sockets } from "../host/sockets.ts";
import type { ServerConfig } from "../server/config.ts";
import type { PostgresServer } from "../server/server.ts";
import type { Templates } from "../server/templates.ts";
import type { ServiceSessions } from "../session/service-sessions.ts";
import type { Sessions } from "./sessions.ts";

export interface FleetPorts {
  store: Store;
  clock: ServiceClock;
  processes: Processes;
  /** The budget of processes of servers and their clients, by owner of their compute; one alone gets half of it. */
  processShares: Pick<Shares, "of">;
  home: Home;
  sockets: Sockets;
  templates: Templates;
  sessions: ServiceSessions;
  /** Sessions of clients. */
  clients: Pick<Sessions, "count" | "logOut">;
  passwordOf: (passwordSource: string) => string;
  newGeneration: () => string;
  /** Size of the computes' disks for temporary files, as a part of their normal size. */
  temporaryDiskScale: number;
  /** Direct connections that a compute of this size accepts. */
  maxConnections: (range: ComputeUnitRange) => number;
  /** Aborts when the service ends: nothing is started or copied any more. */
  ends: AbortSignal;
  /** Changes the store in a transaction. */
  change: (act: () => void) => void;
  /** Tells the operator of the service what went wrong, in one line. */
  report: (line: string) => void;
  /** A server ended that nobody stopped. */
  onCrash: (endpointId: string) => void;
}

/** A server that runs for a compute. */
export interface Running {
  endpoint: StoredEndpoint;
  /** Of the branch's data that it serves or follows. */
  generation: string;
  data: string;
  config: ServerConfig;
  server: PostgresServer;
  /** Makes room for a client that is about to take the place of a session without one. */
  expectClient: () => void;
}

export function servedBy({ endpoint: { branchId }, generation }: Running): ServedData {
  return { branchId, generation };
}

export function isPrimary({ type }: Pick<StoredEndpoint, "type">): boolean {
  return type === "read_write";
}

/** The replicas of a branch among servers that run. */
export function replicasOf<Server extends { endpoint: Pick<StoredEndpoint, "branchId" | "type"> }>(
  branchId: string,
  running: readonly Server[],
): Server[] {
  return running.filter(({ endpoint }) => endpoint.branchId === branchId && !isPrimary(endpoint));
}
