import type { Change } from "../kube/store.ts";
import type { KubeObject } from "../objects/object.ts";
import { Index, IndexEntries } from "../runtime/index-entries.ts";

/** Objects of a cache by keys of theirs, such as the connection that they name, without a look at all others. */
export class ObjectIndex<T extends KubeObject> {
  readonly #newest: (uid: string) => T | undefined;
  readonly #keysOf: (object: T) => readonly string[];
  readonly #index = new Index();
  readonly #entries = new IndexEntries();

  /** `newest`: the cached version. */
  constructor(newest: (uid: string) => T | undefined, keysOf: (object: T) => readonly string[]) {
    this.#newest = newest;
    this.#keysOf = keysOf;
  }

  /** Applies a change of the watch. */
  change({ type, object }: Pick<Change<T>, "type" | "object">): void {
    const { uid } = object.metadata;
    const keys = type === "deleted" ? [] : this.#keysOf(object);
    if (keys.length === 0) this.#entries.delete(uid);
    else
      this.#entries.set(
        uid,
        keys.map((key) => ({ index: this.#index, key })),
      );
  }

  /** There may be thousands, so only as many are read as the caller takes. */
  *of(key: string, isWanted: (object: T) => boolean = () => true): Iterable<T> {
    for (const uid of this.#index.get(key)) {
      const object = this.#newest(uid);
      if (object !== undefined && isWanted(object)) yield object;
    }
  }
}
