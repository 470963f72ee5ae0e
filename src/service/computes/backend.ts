import type { StoredEndpoint } from "../store/endpoints.ts";

/** A client that connects, and until when it stays, in milliseconds since the epoch. */
export interface Client {
  pooled: boolean;
  closesAt: number;
}

/**
 * What runs behind a compute. For now a model of it, that takes its time and counts connections; a real Postgres would
 * stand behind the same calls. Whatever takes time answers how long, in milliseconds.
 */
export interface ComputeBackend {
  /** Brings a compute up: for the first time, or again after it was suspended. */
  start(endpoint: StoredEndpoint, occasion: "first" | "wake"): number;
  stop(endpoint: StoredEndpoint): number;
  /** Gives a compute its present size and settings. */
  resize(endpoint: StoredEndpoint): number;
  /** Lets a client in. */
  connect(endpoint: StoredEndpoint, client: Client): void;
  /** How many clients are connected, directly or through the pooler. */
  connections(endpoint: StoredEndpoint, pooled: boolean): number;
  /** Whether anyone at all is connected. */
  serves(endpoint: StoredEndpoint): boolean;
  /** Cuts all connections; answers whether there were any. */
  disconnect(endpoint: StoredEndpoint): boolean;
}
