import { isBeingDeleted } from "../objects/object.ts";
import { type KubeObject, nameOf } from "./objects.ts";

/** A change of one object. It has no reason, so that nobody acts on one. */
export type Change<T> =
  | { type: "added"; object: T; previous?: undefined }
  | { type: "updated"; object: T; previous: T }
  /** `object` is the last that was seen of it. */
  | { type: "deleted"; object: T; previous?: T };

/** Number of a list's objects taken in at once: some ten milliseconds where all have changed. */
const objectsPerStep = 250;

/**
 * The objects of one kind as last heard of, by name and by uid; every mutator returns what it changed.
 *
 * Two sources feed it: the watch, which may lag, and the answers to this process's own writes. Of one name the newest
 * version stays, whichever source brought it. A list is the whole truth up to its own version: what an answer brought
 * while the list was on its way stays where it is newer than that.
 */
export class ObjectStore<T extends KubeObject> {
  readonly #byName = new Map<string, T>();
  readonly #byUid = new Map<string, T>();
  readonly #byNamespace = new Map<string, Map<string, T>>();
  #sorted: readonly T[] | undefined;
  readonly #sortedIn = new Map<string, readonly T[]>();
  /** Uids that an answer brought since the newest list began. */
  #answered = new Set<string>();
  /** Uids that an answer showed to be gone: in which list's time that was. The watch may still tell their past. */
  readonly #gone = new Map<string, number>();
  #lists = 0;

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

  /** The objects of one namespace, sorted by name; the same array until one of them changes. */
  within(namespace: string): readonly T[] {
    const known = this.#sortedIn.get(namespace);
    if (known !== undefined) return known;
    const objects = this.#byNamespace.get(namespace);
    if (objects === undefined) return [];
    const sorted = [...objects.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
    this.#sortedIn.set(namespace, sorted);
    return sorted;
  }

  /** Takes in an event: an object was added or changed. A version that is not newer than the known one is skipped. */
  upsert(object: T): Change<T>[] {
    if (this.#gone.has(object.metadata.uid)) return [];
    const known = this.#byName.get(nameOf(object.metadata));
    if (known !== undefined && isNewer(versionOf(object), versionOf(known)) === false) return [];
    return this.#put(object);
  }

  /** Takes in the event of a deletion; `last` is the object's final state. An unknown object changes nothing. */
  remove(last: T): Change<T>[] {
    this.#gone.delete(last.metadata.uid);
    return this.#remove(last);
  }

  /**
   * Takes in the answer to a write. It may be older than what the watch has brought meanwhile, and of an unknown uid it
   * may tell the past: it counts only for a `created` object, and where the watch has not come past its version
   * (`seenUpTo`; `undefined`: the watch starts with the list that is on its way). A deleted uid never comes back.
   */
  answered(object: T, { created, seenUpTo }: { created: boolean; seenUpTo: string | undefined }): Change<T>[] {
    const { uid } = object.metadata;
    const known = this.#byUid.get(uid);
    if (known === undefined) {
      if (!created || this.#gone.has(uid)) return [];
      if (seenUpTo !== undefined && isNewer(versionOf(object), seenUpTo) !== true) return [];
    }
    if (isFinal(object)) {
      this.#gone.set(uid, this.#lists);
      return this.#remove(object);
    }
    const holder = this.#byName.get(nameOf(object.metadata));
    if (holder !== undefined && isNewer(versionOf(object), versionOf(holder)) !== true) return [];
    this.#answered.add(uid);
    return this.#put(object);
  }

  /** The request of a complete list is about to be sent: it shows the answers that came before. */
  beginList(): void {
    this.#lists += 1;
    this.#answered = new Set();
  }

  /**
   * A complete list, whose version is `version`; of `unreadable` uids, which were in it too, the known state stays. It
   * is the truth even where it goes back, as after etcd was restored, but for answers that are newer. Returns the steps
   * that take it in, each for one task: a list may be long, and answers may come in between.
   */
  replace(objects: readonly T[], unreadable: readonly string[], version: string): (() => Change<T>[])[] {
    for (const [uid, list] of this.#gone) if (list < this.#lists) this.#gone.delete(uid);
    const isOutdatedFor = (known: T | undefined) =>
      known !== undefined && this.#answered.has(known.metadata.uid) && isNewer(versionOf(known), version) === true;
    const present = new Set([...objects.map((object) => object.metadata.uid), ...unreadable]);
    const absent = [...this.#byUid.values()].filter((known) => !present.has(known.metadata.uid));
    const remove = (known: T) => (isOutdatedFor(this.#byUid.get(known.metadata.uid)) ? [] : this.#remove(known));
    const put = (object: T) => {
      const { metadata } = object;
      const isOutdated = this.#gone.has(metadata.uid) || isOutdatedFor(this.#byName.get(nameOf(metadata)));
      return isOutdated ? [] : this.#put(object);
    };
    return [
      ...inParts(absent).map((part) => () => part.flatMap(remove)),
      ...inParts(objects).map((part) => () => part.flatMap(put)),
    ];
  }

  /** One of the same name with another uid is deleted by that. */
  #put(object: T): Change<T>[] {
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

  #remove(last: T): Change<T>[] {
    const previous = this.#byUid.get(last.metadata.uid);
    if (previous === undefined) return [];
    this.#drop(previous);
    return [{ type: "deleted", object: last, previous }];
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

function inParts<T>(objects: readonly T[]): T[][] {
  const parts = Math.ceil(objects.length / objectsPerStep);
  return Array.from({ length: parts }, (_, part) => objects.slice(part * objectsPerStep, (part + 1) * objectsPerStep));
}

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion;
}

/** Nothing holds a deleted object any more: the API server answers with it for the last time. */
function isFinal(object: KubeObject): boolean {
  return isBeingDeleted(object) && (object.metadata.finalizers ?? []).length === 0;
}

const comparable = /^[1-9]\d*$/;

/**
 * True if one version of a resource is newer than another. kube-apiserver's versions are integers that only grow, per
 * resource and for custom resources too (KEP-5504); `undefined` if either is anything else.
 */
export function isNewer(version: string, than: string): boolean | undefined {
  if (version === than) return false;
  if (!comparable.test(version) || !comparable.test(than)) return undefined;
  return version.length === than.length ? version > than : version.length > than.length;
}
