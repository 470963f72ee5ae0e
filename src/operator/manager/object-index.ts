import type { Change } from "../kube/store.ts";
import type { KubeObject } from "../objects/object.ts";

/** Objects by keys of theirs, such as the connection that they name: a change costs no look at all others. */
export class ObjectIndex<T extends KubeObject> {
  readonly #keysOf: (object: T) => readonly string[];
  readonly #byKey = new Map<string, Map<string, T>>();

  constructor(keysOf: (object: T) => readonly string[]) {
    this.#keysOf = keysOf;
  }

  /** Applies a change of the watch. */
  change({ type, object, previous }: Change<T>): void {
    if (previous !== undefined) this.#drop(previous);
    if (type === "deleted") this.#drop(object);
    else {
      for (const key of this.#keysOf(object)) {
        const objects = this.#byKey.get(key) ?? new Map<string, T>();
        this.#byKey.set(key, objects.set(object.metadata.uid, object));
      }
    }
  }

  /** There may be thousands, so only as many are read as the caller takes. */
  *of(key: string, isWanted: (object: T) => boolean = () => true): Iterable<T> {
    for (const object of this.#byKey.get(key)?.values() ?? []) {
      if (isWanted(object)) yield object;
    }
  }

  #drop(object: T): void {
    for (const key of this.#keysOf(object)) {
      const objects = this.#byKey.get(key);
      objects?.delete(object.metadata.uid);
      if (objects?.size === 0) this.#byKey.delete(key);
    }
  }
}
