/** Ids by key, in the order in which they were added. Most keys have one id, which takes no set of its own. */
export class Index {
  readonly #ids = new Map<string, string | Set<string>>();

  get(key: string): Iterable<string> {
    const ids = this.#ids.get(key) ?? [];
    return typeof ids === "string" ? [ids] : ids;
  }

  add(key: string, id: string): void {
    const ids = this.#ids.get(key);
    if (ids === undefined) this.#ids.set(key, id);
    else if (typeof ids !== "string") ids.add(id);
    else if (ids !== id) this.#ids.set(key, new Set([ids, id]));
  }

  delete(key: string, id: string): void {
    const ids = this.#ids.get(key);
    if (ids === undefined) return;
    if (typeof ids !== "string") ids.delete(id);
    if (ids === id || (typeof ids !== "string" && ids.size === 0)) this.#ids.delete(key);
  }
}

/** One place of an id: a key of an index. */
export interface IndexEntry {
  readonly index: Index;
  readonly key: string;
}

/** The places of each id in several indexes, so that its old entries go when it gets others. Empty keys are removed. */
export class IndexEntries {
  readonly #entries = new Map<string, readonly IndexEntry[]>();

  get size(): number {
    return this.#entries.size;
  }

  get ids(): Iterable<string> {
    return this.#entries.keys();
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  of(id: string): readonly IndexEntry[] {
    return this.#entries.get(id) ?? [];
  }

  /** An id that is known keeps its place among the others. */
  set(id: string, entries: readonly IndexEntry[]): void {
    if (this.has(id) && areSame(this.of(id), entries)) return;
    this.#unindex(id);
    for (const { index, key } of entries) index.add(key, id);
    // A copy has no room for more, which an array that was put together has: it would take twice the memory.
    this.#entries.set(id, entries.slice());
  }

  delete(id: string): void {
    this.#unindex(id);
    this.#entries.delete(id);
  }

  #unindex(id: string): void {
    for (const { index, key } of this.of(id)) index.delete(key, id);
  }
}

function areSame(some: readonly IndexEntry[], others: readonly IndexEntry[]): boolean {
  const isSame = ({ index, key }: IndexEntry, at: number) => others[at]?.index === index && others[at].key === key;
  return some.length === others.length && some.every(isSame);
}
