import type { Change } from "../kube/store.ts";
import { placeOf } from "../objects/object.ts";
import { type ConnectionUser, connectionKeyOf } from "../resources/connection-user.ts";

/** Index of Computes, or of Branches, by the connection that they name. */
export class ConnectionUsers<T extends ConnectionUser> {
  readonly #byConnection = new Map<string, Map<string, T>>();

  /** Applies a change of the watch. */
  change({ type, object, previous }: Change<T>): void {
    if (previous !== undefined) this.#drop(previous);
    if (type === "deleted") this.#drop(object);
    else {
      const key = placeOf(connectionKeyOf(object));
      const users = this.#byConnection.get(key) ?? new Map<string, T>();
      this.#byConnection.set(key, users.set(object.metadata.uid, object));
    }
  }

  /** The namespace of a ClusterServiceConnection is empty. */
  *of(namespace: string, name: string, isUser: (user: T) => boolean = () => true): Iterable<T> {
    for (const user of this.#byConnection.get(placeOf({ namespace, name }))?.values() ?? []) {
      if (isUser(user)) yield user;
    }
  }

  #drop(user: T): void {
    const key = placeOf(connectionKeyOf(user));
    const users = this.#byConnection.get(key);
    users?.delete(user.metadata.uid);
    if (users?.size === 0) this.#byConnection.delete(key);
  }
}
