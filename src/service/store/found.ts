import type { Row } from "./row.ts";

/** Rows that were found in one go, so that all have one state. Each is read when it is reached: thousands take long. */
export class Found<Stored> implements Iterable<Stored> {
  readonly #rows: readonly Row[];
  readonly #read: (row: Row) => Stored;

  constructor(rows: readonly Row[], read: (row: Row) => Stored) {
    this.#rows = rows;
    this.#read = read;
  }

  get length(): number {
    return this.#rows.length;
  }

  /** As `at` of an array. */
  at(index: number): Stored | undefined {
    const row = this.#rows.at(index);
    return row && this.#read(row);
  }

  /** The first of them, at most so many. */
  first(count: number): Found<Stored> {
    return new Found(this.#rows.slice(0, count), this.#read);
  }

  map<Shown>(show: (stored: Stored) => Shown): Found<Shown> {
    return new Found(this.#rows, (row) => show(this.#read(row)));
  }

  *[Symbol.iterator](): Generator<Stored> {
    for (const row of this.#rows) yield this.#read(row);
  }
}
