import type { Change } from "../kube/store.ts";
import { type Compute, connectionKeyOf } from "../resources/compute.ts";
import { placeOf } from "../resources/object.ts";

/** Index of Computes by the connection that they name. */
export class ConnectionUsers {
  readonly #byConnection = new Map<string, Map<string, Compute>>();

  /** Applies a change of the watch. */
  change({ type, object, previous }: Change<Compute>): void {
    if (previous !== undefined) this.#drop(previous);
    if (type === "deleted") this.#drop(object);
    else {
      const key = placeOf(connectionKeyOf(object));
      const users = this.#byConnection.get(key) ?? new Map<string, Compute>();
      this.#byConnection.set(key, users.set(object.metadata.uid, object));
    }
  }

  /** The namespace of a ClusterServiceConnection is empty. */
  *of(namespace: string, name: string, isUser: (compute: Compute) => boolean = () => true): Iterable<Compute> {
    for (const compute of this.#byConnection.get(placeOf({ namespace, name }))?.values() ?? []) {
      if (isUser(compute)) yield compute;
    }
  }

  #drop(compute: Compute): void {
    const key = placeOf(connectionKeyOf(compute));
    const users = this.#byConnection.get(key);
    users?.delete(compute.metadata.uid);
    if (users?.size === 0) this.#byConnection.delete(key);
  }
}
