import { deepFreeze, type KubeObject } from "./objects.ts";
import { type Resource, resourceKey } from "./resources.ts";

/** One committed change; `previous` is what stood there before. */
export interface Change {
  revision: number;
  resource: Resource;
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: KubeObject;
  previous?: KubeObject;
}

/** Objects, one global revision, and the history of changes until it is compacted. As etcd. */
export class Store {
  #revision = 1;
  #compacted = 0;
  #history: Change[] = [];
  readonly #tables = new Map<string, Map<string, KubeObject>>();
  /** The tables in the order of lists, as long as they do not change. */
  readonly #sorted = new Map<string, readonly KubeObject[]>();
  readonly #listeners = new Set<(change: Change) => void>();

  get revision(): number {
    return this.#revision;
  }

  /** Changes up to and with this revision are forgotten. */
  get compacted(): number {
    return this.#compacted;
  }

  get(resource: Resource, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#tables.get(resourceKey(resource))?.get(keyOf(namespace, name));
  }

  /** All objects of a resource, or those of one namespace, sorted by namespace and name. */
  list(resource: Resource, namespace?: string): readonly KubeObject[] {
    const key = resourceKey(resource);
    const known = this.#sorted.get(key);
    const all = known ?? sorted([...(this.#tables.get(key) ?? [])]);
    if (known === undefined) this.#sorted.set(key, all);
    return within(all, namespace);
  }

  /** Every object of every resource. */
  all(): KubeObject[] {
    return [...this.#tables.values()].flatMap((table) => sorted([...table]));
  }

  /** The same as it stood at an earlier revision, which must not be compacted yet. */
  listAt(resource: Resource, namespace: string | undefined, revision: number): readonly KubeObject[] {
    const past = new Map(this.#tables.get(resourceKey(resource)));
    for (let index = this.#history.length - 1; index >= 0; index--) {
      const change = this.#history[index];
      if (change === undefined || change.revision <= revision) break;
      if (resourceKey(change.resource) !== resourceKey(resource)) continue;
      const key = keyOf(change.object.metadata.namespace, change.object.metadata.name);
      if (change.previous) past.set(key, change.previous);
      else past.delete(key);
    }
    return within(sorted([...past]), namespace);
  }

  /** Commits an object as it is to be: gives it the next revision, freezes it, tells the watchers. */
  put(resource: Resource, object: KubeObject): KubeObject {
    const table = this.#table(resource);
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const previous = table.get(key);
    object.metadata.resourceVersion = String(++this.#revision);
    table.set(key, deepFreeze(object));
    const type = previous ? "MODIFIED" : "ADDED";
    this.#commit({ revision: this.#revision, resource, type, object, ...(previous ? { previous } : {}) });
    return object;
  }

  /** Removes an object; watchers see it as it last stood, with the revision of its end. */
  remove(resource: Resource, previous: KubeObject): KubeObject {
    this.#table(resource).delete(keyOf(previous.metadata.namespace, previous.metadata.name));
    const metadata = { ...previous.metadata, resourceVersion: String(++this.#revision) };
    const object = deepFreeze({ ...previous, metadata });
    this.#commit({ revision: this.#revision, resource, type: "DELETED", object, previous });
    return object;
  }

  /** Everything is lost, history included, as when etcd is. */
  wipe(resources: Iterable<Resource>): void {
    for (const resource of resources) for (const object of this.list(resource)) this.remove(resource, object);
    this.compact();
  }

  /**
   * Goes back to an earlier revision that is not compacted yet, as etcd restored from a backup does: nothing is told to
   * watchers, and later revisions are given a second time.
   */
  restore(resources: Iterable<Resource>, revision: number): void {
    for (const resource of resources) {
      const past = this.listAt(resource, undefined, revision);
      const entries = past.map((object) => [keyOf(object.metadata.namespace, object.metadata.name), object] as const);
      this.#tables.set(resourceKey(resource), new Map(entries));
    }
    this.#sorted.clear();
    this.#history = this.#history.filter((change) => change.revision <= revision);
    this.#revision = revision;
  }

  /** Changes of a resource after a revision that is not compacted, oldest first. */
  since(resource: Resource, revision: number): Change[] {
    const key = resourceKey(resource);
    return this.#history.filter((change) => change.revision > revision && resourceKey(change.resource) === key);
  }

  /** Forgets all history up to now: watches and pages from before must start over. */
  compact(): void {
    this.#compacted = this.#revision;
    this.#history = [];
  }

  subscribe(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #table(resource: Resource): Map<string, KubeObject> {
    const key = resourceKey(resource);
    const known = this.#tables.get(key);
    if (known) return known;
    const made = new Map<string, KubeObject>();
    this.#tables.set(key, made);
    return made;
  }

  #commit(change: Change): void {
    this.#sorted.delete(resourceKey(change.resource));
    this.#history.push(change);
    for (const listener of this.#listeners) listener(change);
  }
}

function keyOf(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

function sorted(entries: [string, KubeObject][]): KubeObject[] {
  return entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
}

function within(objects: readonly KubeObject[], namespace: string | undefined): readonly KubeObject[] {
  return namespace === undefined ? objects : objects.filter(({ metadata }) => metadata.namespace === namespace);
}
