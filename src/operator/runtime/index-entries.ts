/** Ids by key. */
export type Index = Map<string, Set<string>>;

/** One place of an id: a key of an index. */
export type IndexEntry = readonly [index: Index, key: string];

/** Where each id stands in several indexes, so that its old entries go when it gets others. Empty keys are removed. */
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
    this.#unindex(id);
    for (const [index, key] of entries) index.set(key, (index.get(key) ?? new Set()).add(id));
    this.#entries.set(id, entries);
  }

  delete(id: string): void {
    this.#unindex(id);
    this.#entries.delete(id);
  }

  #unindex(id: string): void {
    for (const [index, key] of this.of(id)) {
      const ids = index.get(key);
      ids?.delete(id);
      if (ids?.size === 0) index.delete(key);
    }
  }
}
