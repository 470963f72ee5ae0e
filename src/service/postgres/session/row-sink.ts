import type { Field } from "pg-protocol/dist/messages.js";

/** A row's columns as text, in the order of the query. */
export type TextRow = readonly (string | null)[];

/** The receiver of an answer's rows, in place of the result. */
export interface RowSink {
  /** Answers a reason to take no more. */
  add(row: TextRow, fields: readonly Field[]): Error | undefined;
  /** Waits until there is room for more, and for a message of which so many bytes have come. */
  room(coming: number): Promise<void> | undefined;
}
