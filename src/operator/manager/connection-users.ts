import type { Change } from "../kube/store.ts";
import type { Compute } from "../resources/compute.ts";

/** Index of Computes by the ServiceConnection that they name. */
export class ConnectionUsers {
  readonly #byConnection = new Map<string, Map<string, Compute>>();

  /** Applies a change of the watch. */
  change({ type, object, previous }: Change<Compute>): void {
    if (previous !== undefined) this.#drop(previous);
    if (type === "deleted") this.#drop(object);
    else {
      const key = keyOf(object.metadata.namespace, object.spec.connectionRef.name);
      const users = this.#byConnection.get(key) ?? new Map<string, Compute>();
      this.#byConnection.set(key, users.set(object.metadata.uid, object));
    }
  }

  of(namespace: string | undefined, connection: string): Compute[] {
    return [...(this.#byConnection.get(keyOf(namespace, connection))?.values() ?? [])];
  }

  #drop({ metadata, spec }: Compute): void {
    const key = keyOf(metadata.namespace, spec.connectionRef.name);
    const users = this.#byConnection.get(key);
    users?.delete(metadata.uid);
    if (users?.size === 0) this.#byConnection.delete(key);
  }
}

function keyOf(namespace: string | undefined, connection: string): string {
  return `${namespace ?? ""}/${connection}`;
}
