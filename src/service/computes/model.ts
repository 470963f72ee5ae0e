import type { ServiceContext } from "../context.ts";
import type { StoredEndpoint } from "../store/endpoints.ts";
import type { Client, ComputeBackend } from "./backend.ts";
import { durationOf } from "./durations.ts";

/**
 * A compute as far as its states need it: it takes as long as a real one, and remembers its connections in the store.
 */
export class ModelBackend implements ComputeBackend {
  readonly #context: Pick<ServiceContext, "store" | "random" | "options">;

  constructor(context: Pick<ServiceContext, "store" | "random" | "options">) {
    this.#context = context;
  }

  readonly address = undefined;
  readonly oldestMajor = 0;

  endOf(at: number, durationMs: number): number {
    return at + durationMs;
  }

  settingsProblem(): undefined {
    return undefined;
  }

  history(): undefined {
    return undefined;
  }

  createBranch(action: "create_branch" | "create_timeline"): number {
    return durationOf(this.#context, action);
  }

  start(_: StoredEndpoint, occasion: "first" | "wake"): number {
    return durationOf(this.#context, occasion === "first" ? "start_compute" : "wake_compute");
  }

  stop(): number {
    return durationOf(this.#context, "suspend_compute");
  }

  resize(): number {
    return durationOf(this.#context, "apply_config");
  }

  connect({ id: endpointId }: StoredEndpoint, { pooled, closesAt }: Client): void {
    this.#context.store.connections.open({ endpointId, pooled, closesAt });
  }

  connections({ id }: Pick<StoredEndpoint, "id">, pooled: boolean): number {
    return this.#context.store.connections.count(id, pooled);
  }

  directConnections(): ReadonlyMap<string, number> {
    return this.#context.store.connections.directCounts();
  }

  serves({ id }: StoredEndpoint): boolean {
    return this.#context.store.connections.any(id);
  }

  disconnect({ id }: StoredEndpoint): boolean {
    return this.#context.store.connections.cut(id) > 0;
  }
}
