import type { StoredEndpoint } from "../store/endpoints.ts";
import type { World } from "../world.ts";
import type { Client, ComputeBackend } from "./backend.ts";
import { durationOf } from "./durations.ts";

/**
 * A compute as far as its states need it: it takes as long as a real one, and remembers its connections in the store.
 */
export class ModelBackend implements ComputeBackend {
  readonly #world: Pick<World, "store" | "random" | "options">;

  constructor(world: Pick<World, "store" | "random" | "options">) {
    this.#world = world;
  }

  start(_: StoredEndpoint, occasion: "first" | "wake"): number {
    return durationOf(this.#world, occasion === "first" ? "start_compute" : "wake_compute");
  }

  stop(): number {
    return durationOf(this.#world, "suspend_compute");
  }

  resize(): number {
    return durationOf(this.#world, "apply_config");
  }

  connect({ id: endpointId }: StoredEndpoint, { pooled, closesAt }: Client): void {
    this.#world.store.connections.open({ endpointId, pooled, closesAt });
  }

  connections({ id }: StoredEndpoint, pooled: boolean): number {
    return this.#world.store.connections.count(id, pooled);
  }

  serves({ id }: StoredEndpoint): boolean {
    return this.#world.store.connections.any(id);
  }

  disconnect({ id }: StoredEndpoint): boolean {
    return this.#world.store.connections.cut(id) > 0;
  }
}
