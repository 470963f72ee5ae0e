import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Project } from "../store/projects.ts";

/** A client that connects, and until when it stays, in milliseconds since the epoch. */
export interface Client {
  pooled: boolean;
  closesAt: number;
}

export interface HistoryState {
  /** Start of the history that can be read, in milliseconds since the epoch. */
  since: number;
  /** The position of that start in the log. */
  position: bigint;
  /** Bytes on the disk, without those shared with other branches. */
  bytes: number;
}

/** The address to which clients connect. */
export interface BackendAddress {
  host: string;
  port: number;
}

/**
 * The side behind the computes: a model that takes its time and counts connections, or real Postgres servers. A step of
 * the model answers how long it takes, in milliseconds.
 */
export interface ComputeBackend {
  /** The address of the real servers; the model has only the vendor's host names. */
  readonly address: BackendAddress | undefined;
  /** The oldest major version of Postgres that it runs. */
  readonly oldestMajor: number;
  /** End of an operation that begins now; `undefined` where the end is reported when it has come. */
  endOf(at: number, durationMs: number): number | undefined;
  /** Reason why a server would refuse a compute's settings; `undefined` where it would not. Throws `Unanswered`. */
  settingsProblem(
    project: Pick<Project, "pgVersion" | "owner">,
    settings: Readonly<Record<string, string>>,
  ): string | undefined;
  /** The history of a branch that is kept on a disk; `undefined` where there is none. */
  history(branchId: string): HistoryState | undefined;
  /** Brings a branch into being. */
  createBranch(action: "create_branch" | "create_timeline"): number;
  /** Brings a compute up: for the first time, or again after it was suspended. */
  start(endpoint: StoredEndpoint, occasion: "first" | "wake"): number;
  stop(endpoint: StoredEndpoint): number;
  /** Gives a compute its present size and settings. */
  resize(endpoint: StoredEndpoint): number;
  /** Plays a client that is let in. Throws a `Refusal` where real clients connect. */
  connect(endpoint: StoredEndpoint, client: Client): void;
  /** Number of connected clients, directly or through the pooler. */
  connections(endpoint: Pick<StoredEndpoint, "id">, pooled: boolean): number;
  /** The number of direct ones of each compute that has clients: for the usage of thousands. */
  directConnections(): ReadonlyMap<string, number>;
  /** True while any client is connected. */
  serves(endpoint: StoredEndpoint): boolean;
  /** Cuts all connections; answers true if there were any. */
  disconnect(endpoint: StoredEndpoint): boolean;
}
