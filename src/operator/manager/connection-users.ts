import type { Change } from "../kube/store.ts";
import type { Compute } from "../resources/compute.ts";

/** Which Computes name each ServiceConnection, however many others there are. */
export class ConnectionUsers {
  readonly #byConnection = new Map<string, Map<string, Compute>>();

  /** Takes a change of the watch over. */
  change({ type, object, previous }: Change<Compute>): void {
    if (previous !== undefined) this.#drop(previous);
    if (type === "deleted") this.#drop(object);
    else {
      const at = placeOf(object.metadata.namespace, object.spec.connectionRef.name);
      const users = this.#byConnection.get(at) ?? new Map<string, Compute>();
      this.#byConnection.set(at, users.set(object.metadata.uid, object));
    }
  }

  of(namespace: string | undefined, connection: string): Compute[] {
    return [...(this.#byConnection.get(placeOf(namespace, connection))?.values() ?? [])];
  }

  #drop({ metadata, spec }: Compute): void {
    const at = placeOf(metadata.namespace, spec.connectionRef.name);
    const users = this.#byConnection.get(at);
    users?.delete(metadata.uid);
    if (users?.size === 0) this.#byConnection.delete(at);
  }
}

function placeOf(namespace: string | undefined, connection: string): string {
  return `${namespace ?? ""}/${connection}`;
}
