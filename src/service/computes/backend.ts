import type { StoredEndpoint } from "../store/endpoints.ts";

/** A client that connects, and until when it stays, in milliseconds since the epoch. */
export interface Client {
  pooled: boolean;
  closesAt: number;
}

export interface HistoryState {
  /** From when on earlier states can be had, in milliseconds since the epoch. */
  since: number;
  /** From which position of the log on. */
  position: bigint;
  /** What it takes on the disk, without what is shared with other branches. */
  bytes: number;
}

/** Where clients connect to. */
export interface BackendAddress {
  host: string;
  port: number;
}

/**
 * What runs behind the computes: a model that takes its time and counts connections, or real Postgres servers. Of the
 * model, whatever takes time answers how long, in milliseconds.
 */
export interface ComputeBackend {
  /** Where clients connect to real servers; the model has only the vendor's host names. */
  readonly address: BackendAddress | undefined;
  /** When an operation that begins now ends; `undefined` where its end is reported when it has come. */
  endOf(at: number, durationMs: number): number | undefined;
  /** Why a server would refuse a compute's settings; `undefined` where it would not. */
  settingsProblem(pgVersion: number, settings: Readonly<Record<string, string>>): string | undefined;
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
  /** How many clients are connected, directly or through the pooler. */
  connections(endpoint: StoredEndpoint, pooled: boolean): number;
  /** Whether anyone at all is connected. */
  serves(endpoint: StoredEndpoint): boolean;
  /** Cuts all connections; answers whether there were any. */
  disconnect(endpoint: StoredEndpoint): boolean;
}
