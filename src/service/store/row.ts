import type { SQLOutputValue } from "node:sqlite";

/** A row as SQLite returns it. */
export type Row = Record<string, SQLOutputValue>;

/** Reads a column that is never null. The schema is STRICT, so any other type is a defect. */
export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw new TypeError(`column ${column} holds ${typeof value}, not text`);
}

export function number(row: Row, column: string): number {
  const value = row[column];
  if (typeof value === "number") return value;
  throw new TypeError(`column ${column} holds ${typeof value}, not a number`);
}

export function flag(row: Row, column: string): boolean {
  return number(row, column) !== 0;
}

export function optionalText(row: Row, column: string): string | undefined {
  return row[column] === null ? undefined : text(row, column);
}

export function optionalNumber(row: Row, column: string): number | undefined {
  return row[column] === null ? undefined : number(row, column);
}
