import type { Database, Value } from "./database.ts";
import { Found } from "./found.ts";
import { number, type Row, text } from "./row.ts";

/** A value as columns keep it. */
export interface Kept<Stored> {
  columns: readonly string[];
  read(row: Row): Stored;
  write(value: Stored): readonly Value[];
}

type Reader<Stored> = (row: Row, column: string) => Stored;

/** Columns of an object's fields; a reader alone stands for a column of the field's name. */
export type Fields<Stored> = { readonly [Name in keyof Stored]-?: Kept<Stored[Name]> | Reader<Stored[Name]> };

/** Keeps a value in one column, an object as JSON. */
export function keptIn<Stored>(column: string, read: Reader<Stored>): Kept<Stored> {
  return { columns: [column], read: (row) => read(row, column), write: (value) => [bound(value)] };
}

/** Reads one of some texts, or else `otherwise`. */
export function oneOf<Text extends string>(texts: readonly Text[], otherwise: Text): Reader<Text> {
  return (row, column) => texts.find((known) => known === text(row, column)) ?? otherwise;
}

/** Reads JSON by a schema. */
export function jsonOf<Stored>(schema: { parse(value: unknown): Stored }): Reader<Stored> {
  return (row, column) => schema.parse(JSON.parse(text(row, column)));
}

/** The value of a column where the row is there already: the new one, the sum of both, or the larger one. */
export type Merge = "replace" | "add" | "largest";

/** The largest number that a column holds: Node reads no larger one, and the row with it neither. */
const largest = Number.MAX_SAFE_INTEGER;

const mergedColumn: Readonly<Record<Merge, (column: string) => string>> = {
  replace: (column) => `excluded.${column}`,
  add: (column) => `min(${column} + excluded.${column}, ${largest})`,
  largest: (column) => `max(${column}, excluded.${column})`,
};

/** A page of a list, the first one is 1, and the rows that it has. */
export interface PageWanted {
  page: number;
  size: number;
}

/** The rows of a list: a part of their texts, their state and their order, each empty where it does not matter. */
export interface RowsWanted {
  search: string;
  state: string;
  sort: string;
}

/** The rows of a page, and the number of rows on all. A page after the last one counts as the last. */
export interface PageFound<Found> {
  rows: readonly Found[];
  total: number;
  page: number;
}

/** The number of the last page of a list. */
export function lastPage(total: number, size: number): number {
  return Math.max(1, Math.ceil(total / size));
}

/** The order of a list by its name; any other name stands for the first one. */
export function orderOf(orders: Readonly<Record<string, string>>, name: string): string {
  return (Object.hasOwn(orders, name) ? orders[name] : Object.values(orders)[0]) ?? "seq";
}

/** A table of objects: the statements follow from the fields. `rest` follows the name of the table in a statement. */
export class Table<Stored extends object> {
  readonly #db: Database;
  readonly #name: string;
  readonly #kept: ReadonlyMap<string, Kept<unknown>>;
  readonly #columns: string;
  readonly #numbered: "in-table" | "in-branch" | undefined;

  /** `numbered`: the column `seq` has the order of creation, in the whole table or in a branch. */
  constructor(db: Database, name: string, fields: Fields<Stored>, numbered?: "in-table" | "in-branch") {
    this.#db = db;
    this.#name = name;
    this.#kept = keptOf(fields);
    this.#columns = [...this.#kept.values()].flatMap(({ columns }) => columns).join(", ");
    this.#numbered = numbered;
  }

  one(rest: string, ...values: readonly Value[]): Stored | undefined {
    const row = this.#db.one(`SELECT ${this.#columns} FROM ${this.#name} ${rest}`, ...values);
    return row && this.read(row);
  }

  all(rest: string, ...values: readonly Value[]): Stored[] {
    return [...this.find(rest, ...values)];
  }

  /** As `all`, by a whole statement that answers rows of the table. */
  select(sql: string, ...values: readonly Value[]): Stored[] {
    return [...this.found(sql, ...values)];
  }

  /** As `all`, each read when it is reached. */
  find(rest: string, ...values: readonly Value[]): Found<Stored> {
    return this.found(`SELECT ${this.#columns} FROM ${this.#name} ${rest}`, ...values);
  }

  /** As `select`, each read when it is reached. */
  found(sql: string, ...values: readonly Value[]): Found<Stored> {
    return new Found(this.#db.all(sql, ...values), (row) => this.read(row));
  }

  has(rest: string, ...values: readonly Value[]): boolean {
    return this.#db.one(`SELECT 1 AS found FROM ${this.#name} ${rest} LIMIT 1`, ...values) !== undefined;
  }

  count(rest: string, ...values: readonly Value[]): number {
    const row = this.#db.one(`SELECT count(*) AS count FROM ${this.#name} ${rest}`, ...values);
    return row ? number(row, "count") : 0;
  }

  /** The rows of one page in an order, and the number of all rows that `where` finds. */
  paged(where: string, order: string, values: readonly Value[], wanted: PageWanted): PageFound<Stored> {
    const total = this.count(where, ...values);
    const page = Math.min(wanted.page, lastPage(total, wanted.size));
    const offset = (page - 1) * wanted.size;
    const rows = this.all(`${where} ORDER BY ${order} LIMIT ? OFFSET ?`, ...values, wanted.size, offset);
    return { rows, total, page };
  }

  /** The length of a column's texts together, as they are stored. */
  length(column: string, rest: string, ...values: readonly Value[]): number {
    const row = this.#db.one(`SELECT coalesce(sum(length(${column})), 0) AS sum FROM ${this.#name} ${rest}`, ...values);
    return row ? number(row, "sum") : 0;
  }

  /** Stores an object with these of its fields. */
  insert(fields: Partial<Stored>): void {
    const { sql, values } = this.#insertion(fields);
    this.#db.run(sql, ...values);
  }

  /** As `insert`; where the object is there already, changes these of its fields, by default all. */
  upsert(fields: Partial<Stored>, changed: Partial<Readonly<Record<keyof Stored, Merge>>> = {}): void {
    const { sql, values } = this.#insertion(fields);
    const some = Object.entries<Merge | undefined>(changed);
    const all = Object.keys(fields).map((name) => [name, "replace"] as const);
    const assignments = (some.length > 0 ? some : all).flatMap(([name, merge = "replace"]) =>
      (this.#kept.get(name)?.columns ?? []).map((column) => `${column} = ${mergedColumn[merge](column)}`),
    );
    this.#db.run(`${sql} ON CONFLICT DO UPDATE SET ${assignments.join(", ")}`, ...values);
  }

  /** As `insert`, and answers the object with what the table has added. */
  inserted(fields: Partial<Stored>): Stored {
    const { sql, values } = this.#insertion(fields);
    const row = this.#db.one(`${sql} RETURNING ${this.#columns}`, ...values);
    if (!row) throw new Error(`${this.#name} did not take a new row`);
    return this.read(row);
  }

  /** Answers the number of changed rows. */
  update(fields: Partial<Stored>, rest: string, ...values: readonly Value[]): number {
    const changed = this.#bound(fields);
    const assignments = changed.columns.map((column) => `${column} = ?`).join(", ");
    return this.#db.run(`UPDATE ${this.#name} SET ${assignments} ${rest}`, ...changed.values, ...values);
  }

  /** Adds to columns of numbers. */
  increase(amounts: Partial<Stored>, rest: string, ...values: readonly Value[]): void {
    const { columns, values: added } = this.#bound(amounts);
    const assignments = columns.map((column) => `${column} = min(${column} + ?, ${largest})`).join(", ");
    this.#db.run(`UPDATE ${this.#name} SET ${assignments} ${rest}`, ...added, ...values);
  }

  /** Answers the number of deleted rows. */
  delete(rest: string, ...values: readonly Value[]): number {
    return this.#db.run(`DELETE FROM ${this.#name} ${rest}`, ...values);
  }

  read(row: Row): Stored;
  read(row: Row): unknown {
    const stored: Record<string, unknown> = {};
    for (const [name, kept] of this.#kept) stored[name] = kept.read(row);
    return stored;
  }

  #insertion(fields: Partial<Stored>): { sql: string; values: Value[] } {
    const { columns, values } = this.#bound(fields);
    const places = columns.map((_, index) => `?${index + 1}`);
    if (this.#numbered !== undefined) {
      const within = this.#numbered === "in-branch" ? `WHERE branch_id = ?${columns.indexOf("branch_id") + 1}` : "";
      columns.push("seq");
      places.push(`(SELECT coalesce(max(seq), 0) + 1 FROM ${this.#name} ${within})`);
    }
    return { sql: `INSERT INTO ${this.#name} (${columns.join(", ")}) VALUES (${places.join(", ")})`, values };
  }

  /** Leaves out what is no field of the table. */
  #bound(fields: Partial<Stored>): { columns: string[]; values: Value[] } {
    const columns: string[] = [];
    const values: Value[] = [];
    for (const [name, value] of Object.entries<unknown>(fields)) {
      const kept = this.#kept.get(name);
      if (kept === undefined) continue;
      columns.push(...kept.columns);
      values.push(...kept.write(value));
    }
    return { columns, values };
  }
}

function keptOf(fields: Readonly<Record<string, Kept<unknown> | Reader<unknown>>>): Map<string, Kept<unknown>> {
  return new Map(
    Object.entries(fields).map(([name, kept]) => [name, typeof kept === "function" ? keptIn(snake(name), kept) : kept]),
  );
}

function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function bound(value: unknown): Value {
  if (typeof value === "number") return Math.min(value, largest);
  if (typeof value === "string" || typeof value === "boolean") return value;
  return value === undefined ? undefined : JSON.stringify(value);
}
