import { type KubeObject, nameOf } from "./objects.ts";

/** What became of one object. Reasons for a change are not told, so that nobody acts on them. */
export type Change<T> =
  | { type: "added"; object: T; previous?: undefined }
  | { type: "updated"; object: T; previous: T }
  /** `object` is the last that was seen of it. */
  | { type: "deleted"; object: T; previous?: T };

/** The objects of one kind as last heard of, by name and by uid; every mutator answers what it changed. */
export class ObjectStore<T extends KubeObject> {
  readonly #byName = new Map<string, T>();
  readonly #byUid = new Map<string, T>();
  readonly #byNamespace = new Map<string, Map<string, T>>();
  #sorted: readonly T[] | undefined;
  readonly #sortedIn = new Map<string, readonly T[]>();

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#byName.get(nameOf({ namespace, name }));
  }

  byUid(uid: string): T | undefined {
    return this.#byUid.get(uid);
  }

  /** All objects, sorted by namespace and name; the same array until something changes. */
  list(): readonly T[] {
    this.#sorted ??= [...this.#byName.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
    return this.#sorted;
  }

  /** Those of one namespace, sorted by name; the same array until one of them changes. */
  within(namespace: string): readonly T[] {
    const known = this.#sortedIn.get(namespace);
    if (known !== undefined) return known;
    const objects = this.#byNamespace.get(namespace);
    if (objects === undefined) return [];
    const sorted = [...objects.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
    this.#sortedIn.set(namespace, sorted);
    return sorted;
  }

  /** Takes in an object that was added or changed; one of the same name with another uid is deleted by that. */
  upsert(object: T): Change<T>[] {
    const previous = this.#byName.get(nameOf(object.metadata));
    if (previous === undefined) {
      this.#set(object);
      return [{ type: "added", object }];
    }
    if (previous.metadata.uid !== object.metadata.uid) {
      this.#drop(previous);
      this.#set(object);
      return [
        { type: "deleted", object: previous, previous },
        { type: "added", object },
      ];
    }
    if (previous.metadata.resourceVersion === object.metadata.resourceVersion) return [];
    this.#set(object);
    return [{ type: "updated", object, previous }];
  }

  /** Lets go of an object; `last` is the state it had in the end. One that is not known changes nothing. */
  remove(last: T): Change<T>[] {
    const previous = this.#byUid.get(last.metadata.uid);
    if (previous === undefined) return [];
    this.#drop(previous);
    return [{ type: "deleted", object: last, previous }];
  }

  /** Takes a complete list for the whole truth; of `unreadable` uids, which were in it too, what is known stays. */
  replace(objects: readonly T[], unreadable: readonly string[] = []): Change<T>[] {
    const present = new Set([...objects.map((object) => object.metadata.uid), ...unreadable]);
    const gone = [...this.#byUid.values()].filter((object) => !present.has(object.metadata.uid));
    return [...gone.flatMap((object) => this.remove(object)), ...objects.flatMap((object) => this.upsert(object))];
  }

  #set(object: T): void {
    this.#byName.set(nameOf(object.metadata), object);
    this.#byUid.set(object.metadata.uid, object);
    const { namespace = "", name } = object.metadata;
    const neighbours = this.#byNamespace.get(namespace) ?? new Map<string, T>();
    this.#byNamespace.set(namespace, neighbours.set(name, object));
    this.#forgetOrder(namespace);
  }

  #drop(object: T): void {
    this.#byName.delete(nameOf(object.metadata));
    this.#byUid.delete(object.metadata.uid);
    const { namespace = "", name } = object.metadata;
    const neighbours = this.#byNamespace.get(namespace);
    neighbours?.delete(name);
    if (neighbours?.size === 0) this.#byNamespace.delete(namespace);
    this.#forgetOrder(namespace);
  }

  #forgetOrder(namespace: string): void {
    this.#sorted = undefined;
    this.#sortedIn.delete(namespace);
  }
}
