// Tables whose rows are named: the types of the rows are kept, which those of `Object.keys` and `fromEntries` do not.

/** The names of the rows, in their order. */
export function namesOf<Table extends object>(table: Table): (keyof Table & string)[];
export function namesOf(table: object): unknown[] {
  return Object.keys(table);
}

/** One column of a table, by the names of its rows. */
export function columnOf<Column extends string, Table extends Record<string, Record<Column, unknown>>>(
  table: Table,
  column: Column,
): { [Name in keyof Table]: Table[Name][Column] };
export function columnOf(table: Record<string, Record<string, unknown>>, column: string): unknown {
  return Object.fromEntries(Object.entries(table).map(([name, row]) => [name, row[column]]));
}
